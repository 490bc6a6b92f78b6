#include "models/pooling.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/fields.h"

namespace fovea {

bool PoolingConfig::has(std::string_view name) const {
  return std::find(pooling.begin(), pooling.end(), name) != pooling.end();
}

std::string PoolingConfig::attention() const {
  return has("structured") ? "structured" : has("attention") ? "attention" : "";
}

void PoolingConfig::describe(Fields& f) {
  f.add("pooling", pooling,
        "How the states of all tokens become one vector: attention (Yang et al. 2016), structured self-attention with "
        "several hops (Lin et al. 2017), mean or max; several are concatenated.")
      .choices({"attention", "structured", "mean", "max"})
      .also_called({"pool", "pooling_type", "aggregation"});
  f.add("hops", hops, "structured: number of hops, each with attention weights of its own.")
      .at_least(1)
      .also_called({"r", "num_hops", "attention_hops"})
      .needs(has("structured"), f.key("pooling") + " = structured");
  f.add("pooling_depth", pooling_depth, "attention, structured: size of the scoring layer; 0 for the encoder's size.")
      .at_least(0)
      .also_called({"d_a", "attention_dim", "attention_size"})
      .needs(!attention().empty(), f.key("pooling") + " = attention or structured");
}

Pooling::Pooling(Parameters& parameters, const std::string& name, const PoolingConfig& config, int64_t depth)
    : config_(config) {
  check(!config.pooling.empty(), "classify.pooling: expected at least one of attention, structured, mean and max");
  check(!(config.has("attention") && config.has("structured")),
        "classify.pooling: expected attention or structured, got both");
  for (const std::string& one : config.pooling) {
    check(std::count(config.pooling.begin(), config.pooling.end(), one) == 1,
          "classify.pooling: expected each pooling once, got {}", fmt::join(config.pooling, ", "));
  }
  const bool structured = config.has("structured");
  const int64_t hops = structured ? config.hops : 1;
  if (!config.attention().empty()) {
    const int64_t size = config.pooling_depth > 0 ? config.pooling_depth : depth;
    hidden_.emplace(parameters, name + ".hidden", depth, size, Linear::Options{.bias = !structured});
    score_.emplace(parameters, name + ".score", size, hops, Linear::Options{.bias = false});
    depth_ += hops * depth;
  }
  depth_ += depth * ((config.has("mean") ? 1 : 0) + (config.has("max") ? 1 : 0));
}

Pooled Pooling::operator()(const Var& states, const Tensor& lengths) const {
  Pooled pooled;
  std::vector<Var> parts;
  const int64_t steps = states.dim(0), batch = states.dim(1), depth = states.dim(2);
  if (score_) {
    const Var scores = (*score_)(tanh((*hidden_)(states)));  // [S,B,R]
    const int64_t hops = scores.dim(2);
    pooled.weights = softmax(permute(scores, {1, 2, 0}).reshape({batch, 1, hops, steps}), {.lengths = lengths});
    const Var contexts = weighted_sum(pooled.weights, states);  // [R,B,D]
    parts.push_back((hops == 1 ? contexts : permute(contexts, {1, 0, 2})).reshape({batch, hops * depth}));
  }
  if (config_.has("mean")) parts.push_back(pool_time(PoolOp::kAverage, states, lengths));
  if (config_.has("max")) parts.push_back(pool_time(PoolOp::kMaximum, states, lengths));
  pooled.features = parts.size() == 1 ? parts.front() : concat(parts, 1);
  return pooled;
}

// Of G = A A^T: ||G - I||^2 = ||G||^2 - 2 trace(G) + R, and trace(G) is the sum of the squares of A.
Var Pooling::penalty(const Var& weights) {
  const int64_t batch = weights.dim(0), hops = weights.dim(2), steps = weights.dim(3);
  const Var a = cast(weights, accumulator_of(weights.dtype())).reshape({batch, hops, steps});
  const Var products = square(matmul(a, a, {.b = true})).reshape({batch, hops * hops});
  const Var trace = sum(square(a.reshape({batch, hops * steps})), 1);
  return affine(sum(products, 1) + affine(trace, -2.0f), 1.0f, static_cast<float>(hops));
}

}  // namespace fovea
