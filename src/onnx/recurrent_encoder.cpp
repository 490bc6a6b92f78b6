// The recurrent encoder, as models/recurrent_encoder.cpp, with ONNX's own recurrent layers.
#include <fmt/format.h>

#include <array>

#include "attention/registry.h"
#include "models/model.h"
#include "onnx/encoders.h"

namespace fovea::onnx {

namespace {

// The order of ONNX's gates as indices of ours: GRU z,r,n of r,z,n; LSTM i,o,f,g of i,f,g,o.
struct CellEntry {
  std::string_view name, op;
  std::vector<int64_t> gates;
};
const CellEntry& cell_of(const ModelConfig& config) {
  static const std::array kCells = {CellEntry{"tanh", "RNN", {0}}, CellEntry{"gru", "GRU", {1, 0, 2}},
                                    CellEntry{"lstm", "LSTM", {0, 3, 1, 2}}};
  return *find_entry(kCells, config.cell);
}

// The rows of a weight or bias, gate by gate in ONNX's order, appended to `to`.
void append_gates(const Parameter& parameter, const CellEntry& cell, std::vector<float>& to) {
  const std::vector<float> all = elements_of(parameter);
  const int64_t block = std::ssize(all) / std::ssize(cell.gates);
  for (const int64_t gate : cell.gates)
    to.insert(to.end(), all.begin() + gate * block, all.begin() + (gate + 1) * block);
}

// A parameter of all directions, [directions, ...].
Value stacked(Graph& g, const std::string& layer, const std::vector<std::string>& directions,
              const std::vector<std::string>& parts, const CellEntry& cell) {
  std::vector<int64_t> shape = {std::ssize(directions)};
  const Shape& one = g.parameter(fmt::format("{}.{}.{}", layer, directions[0], parts[0])).shape();
  shape.insert(shape.end(), one.begin(), one.end());
  shape[1] *= std::ssize(parts);
  return g.tensor(fmt::format("{}.{}", layer, parts[0]), shape, [&] {
    std::vector<float> values;
    for (const std::string& direction : directions)
      for (const std::string& part : parts)
        append_gates(g.parameter(fmt::format("{}.{}.{}", layer, direction, part)), cell, values);
    return values;
  });
}

}  // namespace

Encoded encode_recurrent(const ModelConfig& config, const Tokens& source) {
  Graph& g = source.ids.graph();
  const CellEntry& cell = cell_of(config);
  std::vector<std::string> directions = {"forward"};
  if (config.bidirectional) directions.emplace_back("backward");
  const auto count = std::ssize(directions);
  const Value lengths = cast(source.lengths, Type::kInt32);
  Encoded encoded{.depth = count * config.hidden, .mask = mask_of(source.lengths, size(source.ids, 1))};
  Value x = gather(g.weight("encoder.words.table"), transpose(source.ids, {1, 0}));  // [S,B,E]
  for (int64_t i = 0; i < config.encoder_layers; ++i) {
    const std::string layer = fmt::format("encoder.layers.{}", i);
    const Graph::Scope scope(g, layer);
    const std::vector<Value> inputs = {x, stacked(g, layer, directions, {"input.weight"}, cell),
                                       stacked(g, layer, directions, {"state.weight"}, cell),
                                       stacked(g, layer, directions, {"input.bias", "state.bias"}, cell), lengths};
    const std::string direction = config.bidirectional ? "bidirectional" : "forward";
    const int outputs = config.cell == "lstm" ? 3 : 2;
    // The reset gate of a GRU is applied after the product, as in cuDNN.
    const std::vector<Value> results =
        config.cell == "gru"
            ? g.nodes(cell.op, inputs,
                      {{"hidden_size", config.hidden}, {"direction", direction}, {"linear_before_reset", int64_t{1}}},
                      outputs)
            : g.nodes(cell.op, inputs, {{"hidden_size", config.hidden}, {"direction", direction}}, outputs);
    const Value above = reshape(transpose(results[0], {0, 2, 1, 3}), {0, 0, -1});  // [S,directions,B,H] -> [S,B,D]
    // Of two directions the backward one, which has read the beginning last.
    const auto last = [&](const Value& states) { return squeeze(columns(states, 0, count - 1, count), {0}); };
    encoded.initial.push_back({last(results[1]), outputs == 3 ? last(results[2]) : Value()});
    x = i > 0 && config.residual ? above + x : above;
  }
  encoded.states = transpose(x, {1, 0, 2});
  return encoded;
}

bool encoder_is_recurrent(const ModelConfig& config) {
  const std::string_view name =
      config.encoder.empty() ? find_entry(architectures(), config.architecture)->encoder : config.encoder;
  return find_entry(text_encoders(), name)->recurrent;
}

Encoded encode_text(const ModelConfig& config, const Tokens& source) {
  return encoder_is_recurrent(config) ? encode_recurrent(config, source) : encode_transformer(config, source);
}

Value mean_state(const Encoded& encoded) {
  if (!encoded.mask) return mean(encoded.states, 1);
  const Value counts = unsqueeze(cast(encoded.mask, Type::kFloat), {2});  // [B,S,1]
  return squeeze(sum(encoded.states * counts, 1) / sum(counts, 1), {1});
}

}  // namespace fovea::onnx
