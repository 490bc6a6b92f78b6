// The three encoder-decoders that bench/train, bench/decode and bench/growth measure, with the sizes of
// peers/seq2seq.py: vocabularies of 10,000 tokens and sentences of 25 unless they say otherwise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/worker.h"
#include "models/model.h"
#include "nn/parameters.h"

namespace bench {

inline constexpr int64_t kVocabulary = 10'000, kLength = 25;
inline constexpr const char* kModels[] = {"bahdanau", "luong", "transformer"};

// What the cost of a training step depends on.
struct Sizes {
  int64_t batch = 64, length = kLength, vocabulary = kVocabulary;
  int64_t width = 256;  // of a Transformer's states and of Bahdanau's embeddings; other layers are multiples of it

  std::vector<std::string> arguments() const;                 // for a worker: BATCH LENGTH VOCABULARY WIDTH
  static Sizes from(std::span<const char* const> arguments);  // which may be absent
};

fovea::ModelConfig model_config(const std::string& name, int64_t width = Sizes().width);

struct Seq2Seq {
  explicit Seq2Seq(const std::string& name, fovea::Device device = fovea::Device::cpu(), const Sizes& sizes = {});
  fovea::Parameters parameters;
  std::unique_ptr<fovea::EncoderDecoder> model;
};

// Random token ids, [time,batch], without special tokens.
fovea::Tensor random_tokens(int64_t time, int64_t batch, uint64_t seed, fovea::Device device,
                            int64_t vocabulary = kVocabulary);
fovea::Source random_source(int64_t batch, fovea::Device device = fovea::Device::cpu(), int64_t length = kLength,
                            int64_t vocabulary = kVocabulary);

// Starts Fovea in every precision (int8 for decoding only) and PyTorch in all of its modes, each in a process of its
// own. `purpose` is "train" or "decode".
std::vector<std::unique_ptr<Worker>> start_contenders(const Options& options, const std::string& model,
                                                      const std::string& purpose, int threads, const Sizes& sizes = {});

}  // namespace bench
