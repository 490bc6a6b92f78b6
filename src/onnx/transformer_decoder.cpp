// A step of the decoder of Vaswani et al. 2017, section 3.1, with a KV cache, as models/transformer_decoder.cpp.
#include <fmt/format.h>

#include "onnx/attention.h"
#include "onnx/heads.h"

namespace fovea::onnx {

namespace {

std::string layer_name(int64_t i) { return fmt::format("decoder.{}", i); }

class TransformerDecoder final : public Decoder {
 public:
  TransformerDecoder(const ModelConfig& config, const DecoderSizes& sizes) : config_(config), sizes_(sizes) {}

  Prepared prepare(const Encoded& encoded) const override {
    Graph& g = encoded.states.graph();
    Prepared prepared;
    const Value states =
        sizes_.memory == config_.embedding ? encoded.states : linear("decoder.encoder_projection", encoded.states);
    for (int64_t i = 0; i < config_.decoder_layers; ++i) {
      const Attention cross = attention(g, i, "cross", config_.attention);
      const Memory memory = cross.project_memory(states);
      const auto add = [&](const char* part, const Value& value, int64_t depth) {
        prepared.memory.push_back(
            {{fmt::format("memory.{}.{}", part, i), Type::kFloat, {kBatch, cross.heads(), kSource, depth}}, value});
      };
      add("keys", memory.keys, cross.key_depth());
      add("values", memory.values, cross.value_depth());
    }
    prepare_head(config_, encoded, prepared);
    return prepared;
  }

  void step(Step& step) const override {
    std::vector<Memory> past;
    for (int64_t i = 0; i < config_.decoder_layers; ++i) past.push_back(past_of(step, i));
    const Value position = size(past[0].values, 2);
    std::vector<Value> self_weights, cross_weights;
    Value x = embed("decoder", config_, unsqueeze(step.input().tokens, {1}), position);  // [B,1,D]
    for (int64_t i = 0; i < config_.decoder_layers; ++i) {
      const std::string name = layer_name(i);
      x = sublayer(name + ".self", config_, x, [&](const Value& y) {
        const Attended attended = attend_self(step, i, past[static_cast<size_t>(i)], position, y);
        self_weights.push_back(attended.weights);
        return attended.context;
      });
      x = sublayer(name + ".cross", config_, x, [&](const Value& y) {
        const Attended attended = attend_cross(step, i, position, y);
        cross_weights.push_back(attended.weights);
        return attended.context;
      });
      x = sublayer(name + ".forward", config_, x,
                   [&](const Value& y) { return feed_forward(name + ".forward", config_, y); });
    }
    const Value features = squeeze(final_norm("decoder.norm", config_, x), {1});
    predict(config_, sizes_, {features}, /*deep=*/false, cross_weights.back(), step);
    // [B,H,1,S] of each layer -> [B,L,H,S]
    const auto joined = [](const std::vector<Value>& layers) {
      std::vector<Value> rows;
      rows.reserve(layers.size());
      for (const Value& weights : layers) rows.push_back(unsqueeze(squeeze(weights, {2}), {1}));
      return concat(rows, 1);
    };
    const int64_t layers = config_.decoder_layers;
    step.output({"cross_attention", Type::kFloat, {kBatch, layers, config_.attention.heads, kSource}},
                joined(cross_weights));
    step.output({"self_attention", Type::kFloat, {kBatch, layers, config_.self_attention.heads, kPast + " + 1"}},
                joined(self_weights));
  }

 private:
  Attention attention(Graph& g, int64_t layer, const char* kind, const AttentionConfig& config) const {
    return {g, fmt::format("{}.{}", layer_name(layer), kind), config, config_.embedding, config_.embedding};
  }

  // The projected keys and values of all steps so far.
  Memory past_of(Step& step, int64_t layer) const {
    const Attention self = attention(step.graph(), layer, "self", config_.self_attention);
    const auto past = [&](const char* part, int64_t depth) {
      return step.past(fmt::format("{}.{}", part, layer), false, {kBatch, self.heads(), kPast, depth});
    };
    const Value keys = past("keys", self.key_depth());
    return {keys, past("values", self.value_depth())};
  }

  Attended attend_self(Step& step, int64_t layer, const Memory& past, const Value& position, const Value& x) const {
    const Attention self = attention(step.graph(), layer, "self", config_.self_attention);
    const Memory now = self.project_memory(x, position);
    const Memory all = {concat({past.keys, now.keys}, 2), concat({past.values, now.values}, 2)};
    step.present(fmt::format("keys.{}", layer), all.keys);
    step.present(fmt::format("values.{}", layer), all.values);
    return self(all, {.query = x, .position = position, .last = cast(position, Type::kFloat)});
  }

  Attended attend_cross(Step& step, int64_t layer, const Value& position, const Value& x) const {
    const Attention cross = attention(step.graph(), layer, "cross", config_.attention);
    const Memory memory = {step.memory(fmt::format("memory.keys.{}", layer)),
                           step.memory(fmt::format("memory.values.{}", layer))};
    return cross(memory, {.query = x,
                          .position = position,
                          .mask = step.input().attention_mask(),
                          .last = step.input().last(memory.values)});
  }

  ModelConfig config_;
  DecoderSizes sizes_;
};

}  // namespace

std::unique_ptr<Decoder> make_transformer_decoder(const ModelConfig& config, const DecoderSizes& sizes) {
  return std::make_unique<TransformerDecoder>(config, sizes);
}

}  // namespace fovea::onnx
