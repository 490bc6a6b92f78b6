// The registries of encoders and architectures, and models made from them.
#include "models/architectures.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "models/recurrent_encoder.h"

namespace fovea {

namespace {

const EncoderEntry kTextEncoders[] = {
    {.name = "recurrent",
     .help = "Recurrent layers, in one or both directions.",
     .recurrent = true,
     .self_attention = false,
     .make = [](Parameters& parameters, const ModelConfig& config,
                int64_t vocabulary_size) -> std::unique_ptr<Encoder> {
       return std::make_unique<RecurrentEncoder>(parameters, config, vocabulary_size);
     }},
    {.name = "transformer",
     .help = "Self-attention and feed-forward layers.",
     .recurrent = false,
     .self_attention = true,
     .make = make_transformer_encoder},
};

const ArchitectureEntry kArchitectures[] = {
    {.name = "rnn-seq2seq",
     .paper = "Sutskever et al. 2014",
     .help = "Recurrent, without attention: shows the bottleneck of a fixed-size vector.",
     .encoder = "recurrent",
     .recurrent = true,
     .self_attention = false,
     .cross_attention = false,
     .input_feeding = false,
     .context_gate = false,
     .make = make_rnn_seq2seq},
    {.name = "bahdanau",
     .paper = "Bahdanau et al. 2015",
     .help = "Recurrent; the previous decoder state attends before each step.",
     .encoder = "recurrent",
     .recurrent = true,
     .self_attention = false,
     .cross_attention = true,
     .input_feeding = false,
     .context_gate = true,
     .make = make_bahdanau},
    {.name = "luong",
     .paper = "Luong et al. 2015",
     .help = "Recurrent; the new decoder state attends after each step.",
     .encoder = "recurrent",
     .recurrent = true,
     .self_attention = false,
     .cross_attention = true,
     .input_feeding = true,
     .context_gate = false,
     .make = make_luong},
    {.name = "transformer",
     .paper = "Vaswani et al. 2017",
     .help = "Attention and feed-forward layers only.",
     .encoder = "transformer",
     .recurrent = false,
     .self_attention = true,
     .cross_attention = true,
     .input_feeding = false,
     .context_gate = false,
     .make = make_transformer_decoder},
};

}  // namespace

const ArchitectureEntry& architecture_of(const ModelConfig& config) {
  const ArchitectureEntry* entry = find_entry(kArchitectures, config.architecture);
  check(entry != nullptr, "model.architecture: expected one of {}, got {}", fmt::join(names_of(kArchitectures), ", "),
        config.architecture);
  return *entry;
}

const EncoderEntry& encoder_of(const ModelConfig& config) {
  const std::string_view name = config.encoder.empty() ? architecture_of(config).encoder : config.encoder;
  const EncoderEntry* entry = find_entry(kTextEncoders, name);
  check(entry != nullptr, "model.encoder: expected one of {}, got {}", fmt::join(names_of(kTextEncoders), ", "), name);
  return *entry;
}

Model::Model() {
  static std::atomic<uint64_t> last = 0;
  serial_ = ++last;
}

void check_needs_no_steps(const AttentionConfig& attention, const ModelConfig& config) {
  const std::string stepwise =
      names_with(kArchitectures, [](const ArchitectureEntry& e) { return e.recurrent && e.cross_attention; });
  check(
      !attention.coverage,
      "{}.coverage: coverage is a sum over the steps of a recurrent decoder; expected model.architecture = {}, got {}",
      attention.section, stepwise, config.architecture);
  check(
      !attention.sentinel,
      "{}.sentinel: a sentinel is a part of the state of a recurrent decoder; expected model.architecture = {}, got {}",
      attention.section, stepwise, config.architecture);
}

Var sum_heads(const Var& x) { return permute(sum(x, 1), {1, 0}); }

std::span<const EncoderEntry> text_encoders() { return kTextEncoders; }
std::span<const ArchitectureEntry> architectures() { return kArchitectures; }

std::unique_ptr<EncoderDecoder> make_model(Parameters& parameters, const ModelConfig& config,
                                           const VocabularySizes& sizes) {
  return make_model(parameters, config, encoder_of(config).make(parameters, config, sizes.source), sizes.target);
}

std::unique_ptr<EncoderDecoder> make_model(Parameters& parameters, const ModelConfig& config,
                                           std::unique_ptr<Encoder> encoder, int64_t target_vocabulary_size) {
  std::unique_ptr<Decoder> decoder = architecture_of(config).make(parameters, config, *encoder, target_vocabulary_size);
  return std::make_unique<EncoderDecoder>(std::move(encoder), std::move(decoder));
}

TeacherForced EncoderDecoder::teacher_force(const Source& source, const Tensor& target, Capture capture,
                                            std::span<const WeightEdit> edits, const KnownTargets* targets) const {
  const Encoded encoded = encode(source, capture, edits);
  TeacherForced result = decoder_->teacher_force(encoded, target, capture, edits, targets);
  result.attentions.insert(result.attentions.begin(), encoded.attentions.begin(), encoded.attentions.end());
  return result;
}

std::unique_ptr<DecoderState> EncoderDecoder::decode(const Source& source, const DecodeOptions& options) const {
  return decoder_->start(encode(source, options.capture, options.edits), options);
}

Encoded EncoderDecoder::encode(const Source& source, Capture capture, std::span<const WeightEdit> edits) const {
  Encoded encoded = (*encoder_)(source, capture, edits);
  encoded.copied = source.copied;
  encoded.extended = source.extended;
  return encoded;
}

std::vector<AttentionInfo> EncoderDecoder::attentions() const {
  std::vector<AttentionInfo> all = encoder_->attentions();
  for (AttentionInfo& attention : decoder_->attentions()) all.push_back(std::move(attention));
  return all;
}

std::vector<AttentionEdit> edits_of(std::span<const WeightEdit> edits, AttentionKind kind, int64_t layer) {
  std::vector<AttentionEdit> found;
  for (const WeightEdit& e : edits) {
    if (e.kind == kind && (e.layer == AttentionEdit::kAll || e.layer == layer)) found.push_back(e.edit);
  }
  return found;
}

}  // namespace fovea
