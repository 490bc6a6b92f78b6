#include "tasks/classify_record.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "decode/record.h"
#include "ops/ops.h"

namespace fovea {

namespace {

std::vector<float> on_host(const Var& x) { return to_host<float>(cast(x, DType::kF32).value()); }

// A row of weights without the columns of padding. It sums to 1 even where the weights have few digits (bf16).
void append_row(const std::vector<float>& weights, int64_t row, int64_t columns, int64_t tokens,
                std::vector<float>& to) {
  const auto begin = weights.begin() + row * columns;
  const float sum = std::accumulate(begin, begin + tokens, 0.0f);
  for (int64_t i = 0; i < tokens; ++i) to.push_back(sum > 0 ? begin[i] / sum : begin[i]);
}

int64_t side_of(int64_t cells) { return std::lround(std::sqrt(static_cast<double>(cells))); }

// The weights of from x from cells as weights of to x to cells of the same picture. A cell of the former gives each
// cell of the latter its share of the common area.
std::vector<float> regrid(const std::vector<float>& cells, int64_t from, int64_t to) {
  if (from == to) return cells;
  const auto common = [&](int64_t i, int64_t j) {  // of a row or column i of the former, its share in j of the latter
    const double begin = std::max(static_cast<double>(i) / static_cast<double>(from),
                                  static_cast<double>(j) / static_cast<double>(to)),
                 end = std::min(static_cast<double>(i + 1) / static_cast<double>(from),
                                static_cast<double>(j + 1) / static_cast<double>(to));
    return static_cast<float>(std::max(0.0, end - begin) * static_cast<double>(from));
  };
  std::vector<float> result(static_cast<size_t>(to * to), 0.0f);
  for (int64_t a = 0; a < from * from; ++a) {
    for (int64_t b = 0; b < to * to; ++b) {
      result[static_cast<size_t>(b)] +=
          cells[static_cast<size_t>(a)] * common(a / from, b / to) * common(a % from, b % to);
    }
  }
  return result;
}

// The cell of from x from cells at the middle of a cell of to x to cells.
int64_t middle_of(int64_t cell, int64_t to, int64_t from) {
  const auto place = [&](int64_t i) { return (2 * i + 1) * from / (2 * to); };
  return place(cell / to) * from + place(cell % to);
}

}  // namespace

ClassifierWeights::ClassifierWeights(const LoadedClassifier& model, const Classified& classified) : model_(model) {
  for (const AttentionTrace& trace : classified.attentions) {
    Layer layer{trace.kind, trace.weights.dim(1), trace.weights.dim(2), trace.weights.dim(3), on_host(trace.weights)};
    if (trace.kind == AttentionKind::kPooling) {
      pooled_ = std::move(layer);
    } else {
      layers_.push_back(std::move(layer));
    }
  }
  batch_ = classified.states.dim(1);
  depth_ = classified.states.dim(2);
  if (model.config.classifier.has("max")) states_ = on_host(classified.states);
}

void ClassifierWeights::append_shares(int64_t b, int64_t tokens, std::vector<float>& to) const {
  std::vector<float> shares(static_cast<size_t>(tokens), 0.0f);
  for (int64_t d = 0; d < depth_; ++d) {
    const auto state = [&](int64_t t) { return states_[static_cast<size_t>((t * batch_ + b) * depth_ + d)]; };
    int64_t best = 0;
    for (int64_t t = 1; t < tokens; ++t) best = state(t) > state(best) ? t : best;
    shares[static_cast<size_t>(best)] += 1.0f / static_cast<float>(depth_);
  }
  to.insert(to.end(), shares.begin(), shares.end());
}

RecordedAttention ClassifierWeights::pooling(int64_t b, int64_t tokens) const {
  RecordedAttention found;
  found.kind = name_of(AttentionKind::kPooling);
  found.mechanism = fmt::format("{}", fmt::join(model_.config.classifier.pooling, " + "));
  found.scope = "global";
  found.selection = "soft";
  found.columns = tokens;
  for (int64_t hop = 0; hop < pooled_.rows; ++hop) {
    append_row(pooled_.weights, b * pooled_.rows + hop, pooled_.columns, tokens, found.weights);
    found.row_labels.push_back(pooled_.rows == 1 ? "attention" : fmt::format("hop {}", hop + 1));
  }
  if (!states_.empty()) {
    append_shares(b, tokens, found.weights);
    found.row_labels.emplace_back("max: share of features");
  }
  found.rows = std::ssize(found.row_labels);
  return found;
}

AttentionRecord ClassifierWeights::record(const TokenisedLine& line, int64_t b) const {
  const ClassifierFolderConfig& config = model_.config;
  AttentionRecord record;
  record.task = config.task;
  record.architecture =
      fmt::format("{} encoder, {} pooling", config.model.encoder, fmt::join(config.classifier.pooling, " + "));
  record.source_text = line.text;
  record.source = record_tokens(line, config.max_source, *model_.source, true);
  record.truncated = std::ssize(line.tokens) > config.max_source;
  const int64_t tokens = std::ssize(record.source);
  if (RecordedAttention pooled = pooling(b, tokens); pooled.rows > 0) record.attentions.push_back(std::move(pooled));
  if (layers_.empty()) return record;
  RecordedAttention& self = record.attentions.emplace_back();
  self.kind = name_of(AttentionKind::kEncoderSelf);
  self.mechanism = config.model.self_attention.mechanism();
  self.scope = config.model.self_attention.scope;
  self.selection = config.model.self_attention.selection;
  self.layers = std::ssize(layers_);
  self.heads = layers_.front().heads;
  self.rows = self.columns = tokens;
  for (const Layer& layer : layers_) {
    for (int64_t head = 0; head < layer.heads; ++head) {
      for (int64_t t = 0; t < tokens; ++t) {
        append_row(layer.weights, (b * layer.heads + head) * layer.rows + t, layer.columns, tokens, self.weights);
      }
    }
  }
  return record;
}

// The block may have a finer map than the one that is pooled, and compares with a coarser one if it subsamples.
RecordedAttention ClassifierWeights::nonlocal(int64_t b, int64_t side) const {
  const Layer& layer = layers_.front();
  const int64_t queries = side_of(layer.rows), keys = side_of(layer.columns);
  RecordedAttention found;
  found.kind = name_of(AttentionKind::kEncoderSelf);
  found.mechanism = "non-local block, " + model_.config.vision.nonlocal;
  found.scope = "global";
  found.selection = "soft";
  found.rows = found.columns = side * side;
  for (int64_t cell = 0; cell < side * side; ++cell) {
    const auto from = layer.weights.begin() + (b * layer.rows + middle_of(cell, side, queries)) * layer.columns;
    // Forms without a softmax have weights of either sign and of any size: their shares are shown.
    std::vector<float> row(from, from + layer.columns);
    for (float& w : row) w = std::abs(w);
    append_row(regrid(row, keys, side), 0, side * side, side * side, found.weights);
  }
  return found;
}

AttentionRecord ClassifierWeights::picture_record(int64_t b) const {
  const ClassifierFolderConfig& config = model_.config;
  const Shape map = model_.image_encoder().map_shape();
  AttentionRecord record;
  record.task = config.task;
  record.architecture =
      fmt::format("{}, {} pooling", config.vision.network, fmt::join(config.classifier.pooling, " + "));
  if (RecordedAttention pooled = pooling(b, map[0] * map[1]); pooled.rows > 0) {
    record.attentions.push_back(std::move(pooled));
  }
  if (!layers_.empty()) record.attentions.push_back(nonlocal(b, map[0]));
  return record;
}

}  // namespace fovea
