#include "onnx/heads.h"

#include <cmath>

namespace fovea::onnx {

namespace {

constexpr float kSmallest = 1e-20f;  // keeps the logarithm finite

int64_t copy_depth(const ModelConfig& config, int64_t memory) {
  return config.attention.depth > 0 ? config.attention.depth : memory;
}

// softmax's input: W tanh(U x) with a deep output, else W x. With tied embeddings W is the table of target embeddings.
Value vocabulary_logits(const ModelConfig& config, const Value& x, bool deep) {
  Graph& g = x.graph();
  const Value features = deep ? tanh(linear("decoder.deep", x)) : x;
  const Value weight = g.weight(config.tie_embeddings ? "decoder.words.table" : "decoder.out.weight");
  return g.node("Gemm", {features, weight, g.weight("decoder.out.bias")}, {{"transB", int64_t{1}}});
}

// The weights that source tokens are copied by, [B,S].
Value copy_weights(const ModelConfig& config, const Value& x, const Value& cross, int64_t memory, const Step& step) {
  if (config.copy_attention == "cross") return squeeze(mean(cross, 1), {1});
  const Value query = unsqueeze(linear("decoder.copy.query", x), {2});  // [B,D,1]
  const float scale = 1.0f / std::sqrt(static_cast<float>(copy_depth(config, memory)));
  const Value scores = squeeze(matmul(step.memory("memory.copy"), query), {2}) * scale;
  return softmax(step.input().mask ? masked(scores, step.input().mask) : scores);
}

// With probability g a token of the vocabulary is generated, otherwise a source token is copied (See et al. 2017):
// p(y) = g p_vocabulary(y) + (1 - g) sum_{s: source_s = y} a_s. A pointer without a vocabulary has g = 0.
Value mixture(const ModelConfig& config, const DecoderSizes& sizes, const Value& x, bool deep, const Value& weights,
              Step& step) {
  Graph& g = step.graph();
  const Value copied = g.input({"copied", Type::kInt64, {kBatch, kSource}});
  const Value extended = g.input({"extended", Type::kInt64, {int64_t{1}}});
  const Value none = expand(g.number(0), {size(x, 0), extended});
  Value generated, share = weights;
  if (config.copy == "pointer") {
    generated = concat({expand(g.number(0), {size(x, 0), g.integers({sizes.vocabulary})}), none}, 1);
  } else {
    const Value generate = sigmoid(linear("decoder.generate", x));  // [B,1]
    step.output({"generate", Type::kFloat, {kBatch, int64_t{1}}}, generate);
    generated = concat({softmax(vocabulary_logits(config, x, deep)) * generate, none}, 1);
    share = weights * (g.number(1) - generate);
  }
  return log(g.node("ScatterElements", {generated, copied, share}, {{"axis", int64_t{1}}, {"reduction", "add"}}) +
             kSmallest);
}

}  // namespace

void prepare_head(const ModelConfig& config, const Encoded& encoded, Prepared& prepared) {
  if (!config.copies() || config.copy_attention != "own") return;
  prepared.memory.push_back({{"memory.copy", Type::kFloat, {kBatch, kSource, copy_depth(config, encoded.depth)}},
                             linear("decoder.copy.keys", encoded.states)});
}

void predict(const ModelConfig& config, const DecoderSizes& sizes, const std::vector<Value>& features, bool deep,
             const Value& weights, Step& step) {
  const Graph::Scope scope(step.graph(), "head");
  const Value x = concat(features, 1);
  if (!config.copies()) {
    step.output({"logits", Type::kFloat, {kBatch, sizes.vocabulary}}, vocabulary_logits(config, x, deep));
    return;
  }
  const Value copied = copy_weights(config, x, weights, sizes.memory, step);
  step.output({"logits", Type::kFloat, {kBatch, "vocabulary + extended"}},
              mixture(config, sizes, x, deep, copied, step));
  step.output({"copy_attention", Type::kFloat, {kBatch, kSource}}, copied);
}

}  // namespace fovea::onnx
