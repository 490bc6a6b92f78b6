#include "models/transformer_layers.h"

#include <algorithm>
#include <cmath>

#include "models/positions.h"

namespace fovea {

namespace {

Tensor sinusoids(int64_t count, int64_t depth, Device device, DType dtype) {
  return cast(Var(from_host(sinusoidal_positions(count, depth), {count, depth}, device)), dtype).value();
}

// x [T,B,D] + rows [T,D] for every sentence.
Var add_rows(const Var& x, const Var& rows) {
  if (x.dim(0) == 1) return x + cast(rows.reshape({x.dim(2)}), x.dtype());
  std::vector<int32_t> row(static_cast<size_t>(x.dim(0) * x.dim(1)));
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<int32_t>(i / static_cast<size_t>(x.dim(1)));
  return x + cast(embedding(rows, from_host(row, {x.dim(0), x.dim(1)}, x.device())), x.dtype());
}

}  // namespace

Tensor SinusoidalPositions::operator()(int64_t first, int64_t count, int64_t depth, Device device, DType dtype) const {
  const std::lock_guard lock(mutex_);
  std::vector<Tensor>& tables = tables_[dtype];
  if (tables.empty() || tables.back().dim(0) < first + count) {
    const ArenaScope heap(nullptr);
    const int64_t rows = std::max<int64_t>(first + count, tables.empty() ? kFirstRows : 2 * tables.back().dim(0));
    tables.push_back(sinusoids(rows, depth, device, dtype));
  }
  return tables.back().slice(first, first + count);
}

PositionedEmbedding::PositionedEmbedding(Parameters& parameters, const std::string& name, const ModelConfig& config,
                                         int64_t vocabulary_size)
    : config_(config), tokens_(parameters, name + ".words", vocabulary_size, config.embedding) {
  if (config.positions == "learned") {
    learned_ = &parameters.add(name + ".positions", {config.longest, config.embedding}, Initialiser::normal(0.02));
  }
}

Var PositionedEmbedding::operator()(const Tensor& ids, int64_t position, const Var& features) const {
  Var x = tokens_(ids, std::sqrt(static_cast<float>(config_.embedding)));
  if (features) x = x + features;
  const int64_t count = ids.dim(0);
  if (config_.positions == "sinusoidal") {
    x = add_rows(x, sinusoids_(position, count, config_.embedding, x.device(), x.dtype()));
  } else if (learned_ != nullptr) {
    check(position + count <= config_.longest, "model.longest: learned positions cover {} tokens, got {}",
          config_.longest, position + count);
    x = add_rows(x, learned_->var().slice(position, position + count));
  }
  return dropout(x, static_cast<float>(config_.dropout));
}

FeedForward::FeedForward(Parameters& parameters, const std::string& name, const ModelConfig& config)
    : in_(parameters, name + ".in", config.embedding, config.feed_forward),
      out_(parameters, name + ".out", config.feed_forward, config.embedding),
      activation_(config.activation == "gelu" ? UnaryOp::kGelu : UnaryOp::kRelu),
      dropout_(static_cast<float>(config.dropout)) {}

Var FeedForward::operator()(const Var& x) const {
  const Var hidden = in_(x);
  return out_(activation_ == UnaryOp::kRelu ? relu_dropout(hidden, dropout_)
                                            : fovea::dropout(unary(activation_, hidden), dropout_));
}

SubLayer::SubLayer(Parameters& parameters, const std::string& name, const ModelConfig& config)
    : norm_(parameters, name + ".norm", config.embedding),
      pre_(config.norm == "pre"),
      dropout_(static_cast<float>(config.dropout)) {}

FinalNorm::FinalNorm(Parameters& parameters, const std::string& name, const ModelConfig& config)
    : norm_(parameters, name, config.embedding),
      pre_(config.norm == "pre"),
      dropout_(static_cast<float>(config.dropout)) {}

}  // namespace fovea
