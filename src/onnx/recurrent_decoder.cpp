// A step of the recurrent decoders: rnn-seq2seq, bahdanau and luong, as in models/recurrent_decoder.cpp and the files
// of these names.
#include <fmt/format.h>

#include "models/heads.h"
#include "onnx/attention.h"
#include "onnx/heads.h"

namespace fovea::onnx {

namespace {

const std::string kCrossAttention = "attention";  // the name of its parameters

// One step of a cell, from the gates of the input and of the state (the equations of kernels/kernels.h).
State advance(const std::string& cell, const Value& x_gates, const Value& h_gates, const State& before) {
  if (cell == "tanh") return {tanh(x_gates + h_gates), {}};
  Graph& g = x_gates.graph();
  if (cell == "gru") {
    const std::vector<Value> x = split(x_gates, 1, 3), h = split(h_gates, 1, 3);
    const Value r = sigmoid(x[0] + h[0]), z = sigmoid(x[1] + h[1]), n = tanh(x[2] + r * h[2]);
    return {(g.number(1) - z) * n + z * before.state, {}};
  }
  const std::vector<Value> gates = split(x_gates + h_gates, 1, 4);
  const Value cell_state = sigmoid(gates[1]) * before.cell_state + sigmoid(gates[0]) * tanh(gates[2]);
  return {sigmoid(gates[3]) * tanh(cell_state), cell_state};
}

// The state of all layers within a step.
struct RecurrentState {
  std::vector<State> cells;
  Value top;  // of the top layer
};

class RecurrentDecoder final : public Decoder {
 public:
  RecurrentDecoder(const ModelConfig& config, const DecoderSizes& sizes) : config_(config), sizes_(sizes) {}

  Prepared prepare(const Encoded& encoded) const override {
    Graph& g = encoded.states.graph();
    Prepared prepared;
    if (config_.has_cross_attention()) {
      const Attention cross = attention(g);
      const Memory memory = cross.project_memory(encoded.states);
      const auto add = [&](const char* name, const Value& value, int64_t depth) {
        prepared.memory.push_back({{name, Type::kFloat, {kBatch, cross.heads(), kSource, depth}}, value});
      };
      add("memory.keys", memory.keys, cross.key_depth());
      add("memory.values", memory.values, cross.value_depth());
    }
    prepare_head(config_, encoded, prepared);
    bridge(encoded, prepared);
    return prepared;
  }

  void step(Step& step) const override {
    Graph& g = step.graph();
    RecurrentState state = past(step);
    const Value embedded = gather(g.weight("decoder.words.table"), step.input().tokens);  // [B,E]
    const Value token_gates = linear("decoder.layers.0.input", embedded);
    if (config_.architecture == "bahdanau") {
      const Value before = state.top;
      Attended attended = attend(step, before, sentinel(embedded, before, state));
      Value context = squeeze(attended.context, {1});
      if (config_.context_gate) context = context * sigmoid(linear("attention.context_gate", before));
      advance_cells(state, token_gates + linear("decoder.feed", context));
      predict(config_, sizes_, {state.top, context, embedded}, /*deep=*/true, attended.weights, step);
    } else if (config_.architecture == "luong") {
      const Value before = state.top;
      advance_cells(state, config_.input_feeding ? token_gates + linear("decoder.feed", past_feed(step)) : token_gates);
      const Attended attended = attend(step, state.top, sentinel(embedded, before, state));
      const Value output = tanh(linear("decoder.combine", concat({squeeze(attended.context, {1}), state.top}, 1)));
      if (config_.input_feeding) step.present("feed", output);
      predict(config_, sizes_, {output}, /*deep=*/false, attended.weights, step);
    } else {
      advance_cells(state, token_gates);
      predict(config_, sizes_, {state.top, embedded}, /*deep=*/true, {}, step);
    }
    present(step, state);
  }

 private:
  bool lstm() const { return config_.cell == "lstm"; }
  // Whether the top state is a sum, and not the state of the top cell.
  bool top_is_sum() const { return config_.residual && config_.decoder_layers > 1; }
  Attention attention(Graph& g) const { return {g, kCrossAttention, config_.attention, config_.hidden, sizes_.memory}; }
  Dimensions state_shape() const { return {kBatch, config_.hidden}; }

  // The first states of all layers: tanh(W h), h the final state of the encoder's layer at the same height or of its
  // top layer; of an encoder without such states, h is the mean of all its states.
  void bridge(const Encoded& encoded, Prepared& prepared) const {
    std::vector<State> from = encoded.initial;
    if (from.empty()) from.push_back({mean_state(encoded), {}});
    Value top;
    for (int64_t i = 0; i < config_.decoder_layers; ++i) {
      const State& last = from[std::min(static_cast<size_t>(i), from.size() - 1)];
      top = tanh(linear(fmt::format("bridge.{}", i), last.state));
      prepared.initial.push_back({{fmt::format("initial.state.{}", i), Type::kFloat, state_shape()}, top});
      if (!lstm()) continue;
      const Value& cell_state = last.cell_state ? last.cell_state : last.state;
      prepared.initial.push_back({{fmt::format("initial.cell_state.{}", i), Type::kFloat, state_shape()},
                                  linear(fmt::format("bridge.{}.memory", i), cell_state)});
    }
    if (top_is_sum()) prepared.initial.push_back({{"initial.top", Type::kFloat, state_shape()}, top});
  }

  RecurrentState past(Step& step) const {
    RecurrentState state;
    for (int64_t i = 0; i < config_.decoder_layers; ++i) {
      const Value h = step.past(fmt::format("state.{}", i), true, state_shape());
      state.cells.push_back({h, lstm() ? step.past(fmt::format("cell_state.{}", i), true, state_shape()) : Value()});
    }
    state.top = top_is_sum() ? step.past("top", true, state_shape()) : state.cells.back().state;
    return state;
  }
  Value past_feed(Step& step) const { return step.past("feed", false, {kBatch, output_depth(config_)}); }

  void present(Step& step, const RecurrentState& state) const {
    for (int64_t i = 0; i < config_.decoder_layers; ++i) {
      const State& cell = state.cells[static_cast<size_t>(i)];
      step.present(fmt::format("state.{}", i), cell.state);
      if (lstm()) step.present(fmt::format("cell_state.{}", i), cell.cell_state);
    }
    if (top_is_sum()) step.present("top", state.top);
  }

  void advance_cells(RecurrentState& state, Value gates) const {
    Value below;
    for (int64_t i = 0; i < config_.decoder_layers; ++i) {
      const std::string name = fmt::format("decoder.layers.{}", i);
      const Graph::Scope scope(gates.graph(), name);
      State& cell = state.cells[static_cast<size_t>(i)];
      if (i > 0) gates = linear(name + ".input", below);
      cell = advance(config_.cell, gates, linear(name + ".state", cell.state), cell);
      below = i > 0 && config_.residual ? cell.state + below : cell.state;
    }
    state.top = below;
  }

  // Lu et al. 2017, as models/sentinel.h: what the decoder knows without looking, [B,1,D].
  Value sentinel(const Value& embedded, const Value& before, const RecurrentState& state) const {
    if (!config_.attention.sentinel) return {};
    const std::string name = "attention.sentinel";
    const Value gate = sigmoid(linear(name + ".token", embedded) + linear(name + ".state", before));
    const Value known = gate * tanh(state.cells.back().cell_state);
    const bool projects = embedded.graph().has_weight(name + ".projection.weight");
    return unsqueeze(projects ? linear(name + ".projection", known) : known, {1});
  }

  Attended attend(Step& step, const Value& query, const Value& sentinel) const {
    const Memory memory = {step.memory("memory.keys"), step.memory("memory.values")};
    const AttentionConfig& config = config_.attention;
    AttentionQuery asked{.query = unsqueeze(query, {1}),
                         .mask = step.input().attention_mask(),
                         .last = step.input().last(memory.values),
                         .sentinel = sentinel};
    if (Attention::uses_position(config)) asked.position = step.number();
    if (config.coverage) asked.coverage = step.past("coverage", false, {kBatch, int64_t{1}, int64_t{1}, kSource});
    const Attended attended = attention(step.graph())(memory, asked);
    if (config.coverage) step.present("coverage", attended.coverage);
    step.output({"cross_attention", Type::kFloat, {kBatch, int64_t{1}, config.heads, kSource}},
                unsqueeze(squeeze(attended.weights, {2}), {1}));
    if (sentinel) {
      step.output({"sentinel_attention", Type::kFloat, {kBatch, int64_t{1}, config.heads}},
                  unsqueeze(squeeze(attended.sentinel, {2, 3}), {1}));
    }
    return attended;
  }

  ModelConfig config_;
  DecoderSizes sizes_;
};

}  // namespace

std::unique_ptr<Decoder> make_recurrent_decoder(const ModelConfig& config, const DecoderSizes& sizes) {
  return std::make_unique<RecurrentDecoder>(config, sizes);
}

}  // namespace fovea::onnx
