#include "onnx/decoders.h"

#include "attention/registry.h"
#include "models/model.h"

namespace fovea::onnx {

Value StepInput::last(const Value& keys) const {
  if (!lengths) return cast(size(keys, 2), Type::kFloat) + -1.0f;
  return reshape(cast(lengths, Type::kFloat) + -1.0f, {-1, 1, 1, 1});
}

Value Step::past(const std::string& name, bool from_encoder, const Dimensions& shape) {
  states_.push_back({name, from_encoder, shape});
  return graph_.input({"past." + name, Type::kFloat, shape});
}

void Step::present(const std::string& name, const Value& value) {
  for (const StepState& state : states_) {
    if (state.name != name) continue;
    Dimensions shape = state.shape;
    for (Dimension& dimension : shape) {
      if (dimension == Dimension(kPast)) dimension = kPast + " + 1";
    }
    graph_.output({"present." + name, Type::kFloat, shape}, value);
  }
}

Value Step::number() {
  if (!number_) number_ = graph_.input({"step", Type::kInt64, {int64_t{1}}});
  return number_;
}

std::unique_ptr<Decoder> make_decoder(const ModelConfig& config, const DecoderSizes& sizes) {
  const bool recurrent = find_entry(architectures(), config.architecture)->recurrent;
  return recurrent ? make_recurrent_decoder(config, sizes) : make_transformer_decoder(config, sizes);
}

}  // namespace fovea::onnx
