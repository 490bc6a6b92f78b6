// Layers: parameters with the op that uses them. A layer declares its parameters in its constructor, with its own name
// as their prefix ("encoder.forward" + ".weight"), and is called like a function.
#pragma once

#include <string>
#include <vector>

#include "nn/parameters.h"
#include "ops/ops.h"

namespace fovea {

class Linear {
 public:
  struct Options {
    bool bias = true;
    Initialiser initialiser = Initialiser::glorot();
  };
  Linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out, Options options);
  Linear(Parameters& parameters, const std::string& name, int64_t in, int64_t out)
      : Linear(parameters, name, in, out, Options{}) {}
  Var operator()(const Var& x) const { return linear(x, *weight_, bias_ ? Var(*bias_) : Var()); }
  // y += W x, in place, for a layer without a bias.
  void add_to(const Var& y, const Var& x) const { add_linear(y, x, *weight_); }

 private:
  friend class FusedLinear;
  const Parameter* weight_;          // [out,in]
  const Parameter* bias_ = nullptr;  // [out]
};

// Several linear layers of the same size, with biases, applied to the same input by one GEMM.
class FusedLinear {
 public:
  FusedLinear(Parameters& parameters, const std::vector<const Linear*>& layers);
  // Whether the weights are adjacent, on a device where one large GEMM is faster than several: a GPU.
  bool available(const Var& x) const { return weights_ && biases_ && !x.device().on_host(); }
  // [...,in] -> [count,...,out]
  Var operator()(const Var& x) const { return stacked_linear(x, weights_.var(), biases_.var(), count_); }

 private:
  int64_t count_;
  const FusedParameters &weights_, &biases_;
};

class Embedding {
 public:
  // Rows are initialised from a normal distribution with standard deviation 1/sqrt(depth).
  Embedding(Parameters& parameters, const std::string& name, int64_t count, int64_t depth);
  Var operator()(const Tensor& ids, float scale = 1.0f) const {
    return embedding(*table_, ids, scale, activation_type(table_->value()));
  }
  const Parameter& table() const { return *table_; }

 private:
  const Parameter* table_;  // [V,E]
};

class LayerNorm {
 public:
  LayerNorm(Parameters& parameters, const std::string& name, int64_t depth, float epsilon = 1e-5f);
  Var operator()(const Var& x) const { return layer_norm(x, *gamma_, *beta_, epsilon_); }
  Residual operator()(const Var& x, const Var& residual, float dropout) const {
    return layer_norm(x, residual, dropout, *gamma_, *beta_, epsilon_);
  }

 private:
  const Parameter *gamma_, *beta_;  // [D]
  float epsilon_;
};

class Conv2d {
 public:
  struct Options {
    bool bias = true;
    Initialiser initialiser = Initialiser::glorot();
  };
  Conv2d(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Window& window,
         Options options);
  Conv2d(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Window& window)
      : Conv2d(parameters, name, in, out, window, Options{}) {}
  Var operator()(const Var& x, const ConvOutput& output = {}) const;
  const Parameter& weight() const { return *weight_; }

 private:
  const Parameter* weight_;          // [O,height,width,C]
  const Parameter* bias_ = nullptr;  // [O]
  Window window_;
};

class DepthwiseConv2d {
 public:
  DepthwiseConv2d(Parameters& parameters, const std::string& name, int64_t channels, const Window& window);
  Var operator()(const Var& x, bool rectified = false) const {
    return depthwise_conv2d(x, *weight_, *bias_, window_, rectified);
  }

 private:
  const Parameter *weight_, *bias_;  // [height,width,C], [C]
  Window window_;
};

// Batch norm of the last axis. Its running averages are frozen parameters, so that they are saved with the others.
class BatchNorm {
 public:
  BatchNorm(Parameters& parameters, const std::string& name, int64_t channels, float momentum = 0.1f);
  Var operator()(const Var& x) const {
    return batch_norm(x, *gamma_, *beta_, {mean_->value(), variance_->value()}, momentum_);
  }

 private:
  const Parameter *gamma_, *beta_, *mean_, *variance_;  // [C]
  float momentum_;
};

}  // namespace fovea
