#include "onnx/outputs.h"

#include <limits>

namespace fovea::onnx {

namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

// What one attention of one layer computed, on the host: [B,H,T,S].
struct Weights {
  explicit Weights(const Var& x) : shape(x.shape()), values(to_host<float>(x.value())) {}
  float operator()(int64_t b, int64_t h, int64_t t, int64_t s) const {
    return values[static_cast<size_t>(((b * shape[1] + h) * shape[2] + t) * shape[3] + s)];
  }
  Shape shape;
  std::vector<float> values;
};

std::vector<Weights> layers_of(const std::vector<AttentionTrace>& traces, AttentionKind kind,
                               Var AttentionTrace::*part) {
  std::vector<Weights> layers;
  for (const AttentionTrace& trace : traces) {
    if (trace.kind == kind && trace.*part) layers.emplace_back(trace.*part);
  }
  return layers;
}

// One row of all layers, [B,L,H,columns].
Json row_of(const std::vector<Weights>& layers, int64_t t, int64_t columns) {
  const int64_t batch = layers[0].shape[0], heads = layers[0].shape[1];
  std::vector<float> values;
  for (int64_t b = 0; b < batch; ++b)
    for (const Weights& layer : layers)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t s = 0; s < columns; ++s) values.push_back(layer(b, h, t, s));
  return tensor("float32", {batch, std::ssize(layers), heads, columns}, values);
}

}  // namespace

Json step_outputs(const TeacherForced& forced, int64_t t, int64_t source) {
  const int64_t batch = forced.logits.dim(1), words = forced.logits.dim(2);
  const std::vector<float> all = to_host<float>(forced.logits.value());
  const auto begin = all.begin() + t * batch * words;
  Json expected = {{"logits", tensor("float32", {batch, words}, std::vector<float>(begin, begin + batch * words))}};
  const auto cross = layers_of(forced.attentions, AttentionKind::kCross, &AttentionTrace::weights);
  if (!cross.empty()) expected["cross_attention"] = row_of(cross, t, source);
  const auto self = layers_of(forced.attentions, AttentionKind::kDecoderSelf, &AttentionTrace::weights);
  if (!self.empty()) expected["self_attention"] = row_of(self, t, t + 1);
  const auto sentinel = layers_of(forced.attentions, AttentionKind::kCross, &AttentionTrace::sentinel);
  if (!sentinel.empty()) {
    Json of = row_of(sentinel, t, 1);
    of["shape"].erase(3);
    expected["sentinel_attention"] = of;
  }
  const auto copy = layers_of(forced.attentions, AttentionKind::kCopy, &AttentionTrace::weights);
  if (!copy.empty()) {
    Json of = row_of(copy, t, source);
    of["shape"] = {batch, source};
    expected["copy_attention"] = of;
  }
  for (const AttentionTrace& trace : forced.attentions) {
    if (trace.kind != AttentionKind::kCopy || !trace.center) continue;  // the probability of copying, [T,B,1]
    const std::vector<float> copies = to_host<float>(trace.center.value());
    std::vector<float> generate;
    for (int64_t b = 0; b < batch; ++b) generate.push_back(1 - copies[static_cast<size_t>(t * batch + b)]);
    expected["generate"] = tensor("float32", {batch, 1}, generate);
  }
  return expected;
}

Json encoder_outputs(const std::vector<AttentionTrace>& traces, const std::vector<int32_t>& lengths) {
  const auto layers = layers_of(traces, AttentionKind::kEncoderSelf, &AttentionTrace::weights);
  if (layers.empty()) return Json::object();
  const int64_t batch = layers[0].shape[0], heads = layers[0].shape[1], rows = layers[0].shape[2],
                columns = layers[0].shape[3];
  std::vector<float> values;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t counted = lengths.empty() ? rows : lengths[static_cast<size_t>(b)];
    for (const Weights& layer : layers)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = 0; t < rows; ++t)
          for (int64_t s = 0; s < columns; ++s) values.push_back(t < counted ? layer(b, h, t, s) : kNone);
  }
  return {{"encoder_self_attention", tensor("float32", {batch, std::ssize(layers), heads, rows, columns}, values)}};
}

Json class_outputs(const Classified& classified, const std::vector<int32_t>& lengths) {
  const auto values = [](const Var& x, const std::vector<int64_t>& shape) {
    return tensor("float32", shape, to_host<float>(x.value()));
  };
  Json expected = {{"logits", values(classified.logits, {classified.logits.dim(0), classified.logits.dim(1)})}};
  if (classified.weights) {
    const Shape& shape = classified.weights.shape();
    expected["pooling_attention"] = values(classified.weights, {shape[0], shape[2], shape[3]});
  }
  expected.update(encoder_outputs(classified.attentions, lengths));
  return expected;
}

}  // namespace fovea::onnx
