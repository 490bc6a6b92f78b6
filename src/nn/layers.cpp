#include "nn/layers.h"

#include <cmath>

namespace fovea {

Linear::Linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out, Options options)
    : weight_(&parameters.add(name + ".weight", {out, in}, options.initialiser)) {
  if (options.bias) bias_ = &parameters.add(name + ".bias", {out}, Initialiser::constant(0.0));
}

namespace {

const FusedParameters& fused(Parameters& parameters, const std::vector<const Linear*>& all,
                             const Parameter* Linear::*part) {
  std::vector<const Parameter*> members;
  members.reserve(all.size());
  for (const Linear* each : all) members.push_back(each->*part);
  return parameters.fuse(std::move(members));
}

}  // namespace

FusedLinear::FusedLinear(Parameters& parameters, const std::vector<const Linear*>& layers)
    : count_(std::ssize(layers)),
      weights_(fused(parameters, layers, &Linear::weight_)),
      biases_(fused(parameters, layers, &Linear::bias_)) {}

Embedding::Embedding(Parameters& parameters, const std::string& name, int64_t count, int64_t depth)
    : table_(&parameters.add(name + ".table", {count, depth},
                             Initialiser::normal(1.0 / std::sqrt(static_cast<double>(depth))))) {}

LayerNorm::LayerNorm(Parameters& parameters, const std::string& name, int64_t depth, float epsilon)
    : gamma_(&parameters.add(name + ".gamma", {depth}, Initialiser::constant(1.0))),
      beta_(&parameters.add(name + ".beta", {depth}, Initialiser::constant(0.0))),
      epsilon_(epsilon) {}

Conv2d::Conv2d(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Window& window)
    : weight_(&parameters.add(name + ".weight", {out, window.height, window.width, in}, Initialiser::glorot())),
      bias_(&parameters.add(name + ".bias", {out}, Initialiser::constant(0.0))),
      window_(window) {}

}  // namespace fovea
