#include "models/recurrent_parts.h"

namespace fovea {

Cell cell_named(std::string_view name) {
  return name == "tanh" ? Cell::kTanh : name == "lstm" ? Cell::kLstm : Cell::kGru;
}

RecurrentEncoder::RecurrentEncoder(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes)
    : config_(config),
      depth_(config.hidden * (config.bidirectional ? 2 : 1)),
      words_(parameters, "encoder.words", sizes.source, config.embedding),
      stack_(parameters, "encoder.layers", config.embedding, config.hidden,
             {.cell = cell_named(config.cell),
              .layers = config.encoder_layers,
              .bidirectional = config.bidirectional,
              .dropout = static_cast<float>(config.dropout),
              .residual = config.residual}) {
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    bridges_.emplace_back(parameters, fmt::format("bridge.{}", layer), config.hidden, config.hidden);
    if (config.cell == "lstm") {
      memory_bridges_.emplace_back(parameters, fmt::format("bridge.{}.memory", layer), config.hidden, config.hidden);
    }
  }
}

EncodedSource RecurrentEncoder::operator()(const Source& source) const {
  const auto rate = static_cast<float>(config_.dropout);
  std::vector<State> final;
  EncodedSource encoded;
  encoded.states = dropout(stack_(dropout(words_(source.ids), rate, true), source.lengths, &final), rate, true);
  // The last state of the layer at the same height, or of the top one; of both directions the backward
  // one, which has just read the beginning of the sentence.
  const size_t directions = config_.bidirectional ? 2 : 1, height = final.size() / directions;
  for (size_t layer = 0; layer < bridges_.size(); ++layer) {
    const State& last = final[std::min(layer, height - 1) * directions + directions - 1];
    encoded.initial.push_back(
        {tanh(bridges_[layer](last.state)), memory_bridges_.empty() ? Var() : memory_bridges_[layer](last.memory)});
  }
  return encoded;
}

DecoderCells::DecoderCells(Parameters& parameters, const ModelConfig& config, int64_t feed) : config_(config) {
  const Cell cell = cell_named(config.cell);
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    cells_.emplace_back(parameters, fmt::format("decoder.layers.{}", layer), cell,
                        layer == 0 ? config.embedding : config.hidden, config.hidden);
  }
  if (feed > 0) {
    feed_.emplace_back(parameters, "decoder.feed", feed, gates_of(cell) * config.hidden,
                       Linear::Options{.bias = false});
  }
}

Var DecoderCells::step(const Var& word_gates, const Var& feed, std::vector<State>& states) const {
  Var gates = word_gates;
  if (!feed_.empty()) feed_[0].add_to(gates, feed);
  Var below;
  for (size_t layer = 0; layer < cells_.size(); ++layer) {
    if (layer > 0) gates = cells_[layer].input_gates(dropout(below, static_cast<float>(config_.dropout)));
    states[layer] = cells_[layer].step(gates, states[layer]);
    below = layer > 0 && config_.residual ? states[layer].state + below : states[layer].state;
  }
  return below;
}

Var DecoderCells::unroll(const Var& word_gates, const std::vector<State>& initial) const {
  Var below = cells_[0].unroll_gates(word_gates, initial[0], {}, false).states;
  for (size_t layer = 1; layer < cells_.size(); ++layer) {
    const Var input = dropout(below, static_cast<float>(config_.dropout), true);
    const Var above = cells_[layer].unroll(input, initial[layer], {}, false).states;
    below = config_.residual ? above + below : above;
  }
  return below;
}

int64_t output_depth(const ModelConfig& config) { return config.tie_embeddings ? config.embedding : config.hidden; }

DeepOutput::DeepOutput(Parameters& parameters, const ModelConfig& config, const Embedding& words, int64_t feature_depth,
                       int64_t target_words)
    : deep_(parameters, "decoder.deep", feature_depth + config.embedding, output_depth(config)),
      out_(parameters, config, words, output_depth(config), target_words),
      rate_(static_cast<float>(config.dropout)) {}

Var DeepOutput::operator()(std::initializer_list<Var> seen) const {
  return out_(dropout(tanh(deep_(concat(seen, seen.begin()->rank() - 1))), rate_));
}

Var pick_rows(const Var& x, const Tensor& rows) {
  const int64_t width = x.size() / std::max<int64_t>(1, x.dim(0));
  const Var picked = embedding(x.reshape({x.dim(0), width}), rows.reshape({rows.size()}));
  return picked.reshape(x.shape().with(0, rows.size()));
}

void pick_rows(std::vector<State>& states, const Tensor& rows) {
  for (State& state : states) {
    state.state = pick_rows(state.state, rows);
    if (state.memory) state.memory = pick_rows(state.memory, rows);
  }
}

Tensor rows_of(const Tensor& sentences, int64_t beams, int64_t batch) {
  const std::vector<int32_t> kept = to_host<int32_t>(sentences);
  std::vector<int32_t> rows;
  rows.reserve(static_cast<size_t>(beams) * kept.size());
  for (int64_t k = 0; k < beams; ++k) {
    for (const int32_t b : kept) rows.push_back(static_cast<int32_t>(k * batch) + b);
  }
  return from_host(rows, {beams, sentences.size()}, sentences.device());
}

Memory pick_sentences(const Memory& memory, const Tensor& sentences) {
  const int64_t size = memory.size(), batch = memory.batch();
  const Tensor rows = rows_of(sentences, size, batch);
  const auto pick = [&](const Var& x) {
    const int64_t depth = x.size() / (size * batch);
    return pick_rows(x.reshape({size * batch, depth}), rows).reshape(x.shape().with(1, sentences.size()));
  };
  Memory kept{pick(memory.keys), pick(memory.values), {}};
  if (memory.lengths) {
    const std::vector<int32_t> lengths = to_host<int32_t>(memory.lengths);
    std::vector<int32_t> picked;
    for (const int32_t b : to_host<int32_t>(sentences)) picked.push_back(lengths[static_cast<size_t>(b)]);
    kept.lengths = from_host(picked, sentences.shape(), sentences.device());
  }
  return kept;
}

Var repeat_rows(const Var& x, int64_t times) {
  if (times == 1 || !x) return x;
  const std::vector<Var> copies(static_cast<size_t>(times), x);
  return concat(copies, 0);
}

}  // namespace fovea
