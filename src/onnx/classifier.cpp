#include "onnx/classifier.h"

namespace fovea::onnx {

namespace {

Value max_state(const Encoded& encoded) {
  Graph& g = encoded.states.graph();
  const Value states = encoded.mask ? masked(encoded.states, unsqueeze(encoded.mask, {2})) : encoded.states;
  return g.node("ReduceMax", {states}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}});
}

}  // namespace

Classified classify(const ClassifierConfig& config, const Encoded& encoded) {
  Graph& g = encoded.states.graph();
  Classified result;
  std::vector<Value> parts;
  if (!config.attention().empty()) {
    const Graph::Scope scope(g, "pooling");
    const Value scores = transpose(linear("pooling.score", tanh(linear("pooling.hidden", encoded.states))), {0, 2, 1});
    result.weights = softmax(encoded.mask ? masked(scores, unsqueeze(encoded.mask, {1})) : scores);  // [B,R,S]
    parts.push_back(reshape(matmul(result.weights, encoded.states), {0, -1}));                       // [B,R*D]
  }
  if (config.has("mean")) parts.push_back(mean_state(encoded));
  if (config.has("max")) parts.push_back(max_state(encoded));
  const Value features = concat(parts, 1);
  const Value x = config.head_hidden > 0 ? relu(linear("classes.hidden", features)) : features;
  result.logits = linear("classes.out", x);
  return result;
}

}  // namespace fovea::onnx
