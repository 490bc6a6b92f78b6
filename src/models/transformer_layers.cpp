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

// x Phi(x), Phi the normal distribution's function (Hendrycks & Gimpel 2016), with erf by formula 7.1.26 of Abramowitz
// and Stegun, whose error is below 1.5e-7. x erf(x) does not depend on the sign of x.
Var gelu_erf(const Var& x) {
  constexpr float kRate = 0.3275911f;
  const Var size = abs(x), z = affine(size, std::sqrt(0.5f));
  const Var t = reciprocal(affine(z, kRate, 1.0f));
  Var sum = affine(t, 1.061405429f, -1.453152027f);
  for (const float factor : {1.421413741f, -0.284496736f, 0.254829592f}) sum = affine(sum * t, 1.0f, factor);
  const Var erf = affine(sum * t * exp(affine(square(z), -1.0f)), -1.0f, 1.0f);
  return affine(x + size * erf, 0.5f);
}

Var swish(const Var& x) { return x * sigmoid(x); }  // Ramachandran et al. 2017

Var (*activation_named(const std::string& name))(const Var&) {
  if (name == "swish") return swish;
  if (name == "gelu-erf") return gelu_erf;
  check(name == "gelu", "model.activation: expected relu, gelu, gelu-erf or swish, got {}", name);
  return gelu;
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
      activation_(config.activation == "relu" ? nullptr : activation_named(config.activation)),
      dropout_(static_cast<float>(config.dropout)) {}

Var FeedForward::operator()(const Var& x) const {
  const Var hidden = in_(x);
  return out_(activation_ == nullptr ? relu_dropout(hidden, dropout_) : dropout(activation_(hidden), dropout_));
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
