// The encoder of Vaswani et al. 2017, section 3.1, as models/transformer_encoder.cpp.
#include <fmt/format.h>

#include <cmath>

#include "models/positions.h"
#include "onnx/attention.h"
#include "onnx/encoders.h"

namespace fovea::onnx {

Value embed(const std::string& name, const ModelConfig& config, const Value& ids, const Value& position) {
  Graph& g = ids.graph();
  const Graph::Scope scope(g, name + ".embedding");
  const Value x = gather(g.weight(name + ".words.table"), ids) * std::sqrt(static_cast<float>(config.embedding));
  if (config.positions == "none") return x;
  const Value table = config.positions == "learned" ? g.weight(name + ".positions")
                                                    : g.tensor("sinusoids", {kPositions, config.embedding}, [&] {
                                                        return sinusoidal_positions(kPositions, config.embedding);
                                                      });
  return x + gather(table, positions(size(ids, 1), position));
}

Value activated(const std::string& activation, const Value& h) {
  if (activation == "relu") return relu(h);
  if (activation == "swish") return h * sigmoid(h);
  if (activation == "gelu-erf") return h * 0.5f * (erf(h * 0.7071067811865476f) + 1.0f);
  // GELU in the tanh approximation of Hendrycks & Gimpel 2016.
  const Value cubic = h + h * h * h * 0.044715f;
  return h * 0.5f * (tanh(cubic * 0.7978845608028654f) + 1.0f);
}

Value feed_forward(const std::string& name, const ModelConfig& config, const Value& x) {
  const Graph::Scope scope(x.graph(), name);
  return linear(name + ".out", activated(config.activation, linear(name + ".in", x)));
}

Encoded encode_transformer(const ModelConfig& config, const Tokens& source) {
  Graph& g = source.ids.graph();
  Value x = embed("encoder", config, source.ids);
  const Value mask = mask_of(source.lengths, size(source.ids, 1));
  const Value last = reshape(cast(source.lengths, Type::kFloat) + -1.0f, {-1, 1, 1, 1});
  std::vector<Value> weights;
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    const std::string name = fmt::format("encoder.{}", i);
    const Attention self(g, name + ".self", config.self_attention, config.embedding, config.embedding);
    x = sublayer(name + ".self", config, x, [&](const Value& y) {
      const Attended attended =
          self(self.project_memory(y), {.query = y, .mask = unsqueeze(mask, {1, 2}), .last = last});
      weights.push_back(unsqueeze(attended.weights, {1}));
      return attended.context;
    });
    x = sublayer(name + ".forward", config, x,
                 [&](const Value& y) { return feed_forward(name + ".forward", config, y); });
  }
  return {.states = final_norm("encoder.norm", config, x),
          .depth = config.embedding,
          .mask = mask,
          .attentions = {{"encoder_self_attention",
                          Type::kFloat,
                          {kBatch, config.encoder_layers, config.self_attention.heads, kSource, kSource}},
                         concat(weights, 1)}};
}

}  // namespace fovea::onnx
