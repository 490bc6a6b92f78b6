// The constructors behind the registries of encoders and architectures, and lookups in them.
#pragma once

#include <memory>
#include <string>

#include "models/model.h"

namespace fovea {

std::unique_ptr<Encoder> make_transformer_encoder(Parameters&, const ModelConfig&, int64_t vocabulary_size);

std::unique_ptr<Decoder> make_rnn_seq2seq(Parameters&, const ModelConfig&, const Encoder&, int64_t vocabulary_size);
std::unique_ptr<Decoder> make_bahdanau(Parameters&, const ModelConfig&, const Encoder&, int64_t vocabulary_size);
std::unique_ptr<Decoder> make_luong(Parameters&, const ModelConfig&, const Encoder&, int64_t vocabulary_size);
std::unique_ptr<Decoder> make_transformer_decoder(Parameters&, const ModelConfig&, const Encoder&,
                                                  int64_t vocabulary_size);

// The entries that a configuration names. Error that lists the names if there is none.
const ArchitectureEntry& architecture_of(const ModelConfig& config);
const EncoderEntry& encoder_of(const ModelConfig& config);

// Error if a Transformer is to use coverage or a sentinel, which depend on the steps of a recurrent decoder.
void check_needs_no_steps(const AttentionConfig& attention, const ModelConfig& config);

// A value for each head and query, [B,H,T], summed over the heads: [T,B].
Var sum_heads(const Var& x);

}  // namespace fovea
