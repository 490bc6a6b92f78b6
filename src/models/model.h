// Models, as training, decoding, serving and views see them. What a model can do is asked of the model: which
// attentions it has, how long an input it takes, whether it decodes.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/decoder.h"

namespace fovea {

class EncoderDecoder;

class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  // A number that no other model of the process has had.
  uint64_t serial() const { return serial_; }
  virtual std::vector<AttentionInfo> attentions() const = 0;
  virtual int64_t max_source() const = 0;  // in tokens; 0 for no limit
  // The model as one that decodes; null for a model that does not.
  virtual const EncoderDecoder* as_encoder_decoder() const { return nullptr; }

 protected:
  Model();

 private:
  uint64_t serial_;
};

class EncoderDecoder final : public Model {
 public:
  EncoderDecoder(std::unique_ptr<Encoder> encoder, std::unique_ptr<Decoder> decoder)
      : encoder_(std::move(encoder)), decoder_(std::move(decoder)) {}

  // target [T,B]: the tokens before each predicted one, starting with the begin mark.
  TeacherForced teacher_force(const Source& source, const Tensor& target, Capture capture = {},
                              std::span<const WeightEdit> edits = {}, const KnownTargets* targets = nullptr) const;
  std::unique_ptr<DecoderState> decode(const Source& source, const DecodeOptions& options) const;

  int64_t max_source() const override { return smaller_limit(encoder_->max_length(), decoder_->max_source()); }
  int64_t max_target() const { return decoder_->max_target(); }
  std::vector<AttentionInfo> attentions() const override;
  const EncoderDecoder* as_encoder_decoder() const override { return this; }

 private:
  Encoded encode(const Source& source, Capture capture, std::span<const WeightEdit> edits) const;

  std::unique_ptr<Encoder> encoder_;
  std::unique_ptr<Decoder> decoder_;
};

struct VocabularySizes {
  int64_t source, target;
};

// An architecture is a decoder with the encoder of its paper.
struct ArchitectureEntry {
  std::string_view name, paper, help;
  std::string_view encoder;  // the name of a text encoder, unless model.encoder names another
  // Which settings of ModelConfig its decoder uses.
  bool recurrent, self_attention, cross_attention, input_feeding, context_gate;
  std::unique_ptr<Decoder> (*make)(Parameters&, const ModelConfig&, const Encoder&, int64_t vocabulary_size);
};
std::span<const ArchitectureEntry> architectures();
std::unique_ptr<EncoderDecoder> make_model(Parameters& parameters, const ModelConfig& config,
                                           const VocabularySizes& sizes);
// The same with an encoder made elsewhere, for instance of images.
std::unique_ptr<EncoderDecoder> make_model(Parameters& parameters, const ModelConfig& config,
                                           std::unique_ptr<Encoder> encoder, int64_t target_vocabulary_size);

}  // namespace fovea
