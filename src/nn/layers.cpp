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

Conv2d::Conv2d(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Window& window,
               Options options)
    : weight_(&parameters.add(name + ".weight", {out, window.height, window.width, in}, options.initialiser)),
      window_(window) {
  if (options.bias) bias_ = &parameters.add(name + ".bias", {out}, Initialiser::constant(0.0));
}

Var Conv2d::operator()(const Var& x, const ConvOutput& output) const {
  const Var weight = *weight_, bias = bias_ != nullptr ? Var(*bias_) : Var();
  const bool pixelwise = window_.height * window_.width * window_.stride_y * window_.stride_x == 1 &&
                         window_.pad_y + window_.pad_x + window_.extra_y + window_.extra_x == 0;
  // A window of one pixel is a linear layer of every pixel, with its precisions and its deferred gradients. Where
  // neither counts, a convolution is faster.
  const bool plain = x.device().on_host() && product_precision() == Precision::kF32 && Tape::current() == nullptr;
  if (!pixelwise || plain) return conv2d(x, weight, bias, window_, output);
  Var y = linear(x, weight.reshape({weight.dim(0), weight.dim(3)}), bias);
  if (output.residual) y = y + output.residual;
  return output.relu ? relu(y) : y;
}

DepthwiseConv2d::DepthwiseConv2d(Parameters& parameters, const std::string& name, int64_t channels,
                                 const Window& window)
    : weight_(&parameters.add(name + ".weight", {window.height, window.width, channels},
                              Initialiser::normal(std::sqrt(2.0 / static_cast<double>(window.height * window.width))))),
      bias_(&parameters.add(name + ".bias", {channels}, Initialiser::constant(0.0))),
      window_(window) {}

BatchNorm::BatchNorm(Parameters& parameters, const std::string& name, int64_t channels, float momentum)
    : gamma_(&parameters.add(name + ".gamma", {channels}, Initialiser::constant(1.0))),
      beta_(&parameters.add(name + ".beta", {channels}, Initialiser::constant(0.0))),
      mean_(&parameters.add(name + ".running_mean", {channels}, Initialiser::constant(0.0))),
      variance_(&parameters.add(name + ".running_variance", {channels}, Initialiser::constant(1.0))),
      momentum_(momentum) {
  parameters.freeze(*mean_);
  parameters.freeze(*variance_);
}

}  // namespace fovea
