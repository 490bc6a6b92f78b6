// Layers: parameters with the op that uses them. A layer declares its parameters in its constructor
// under its own name ("encoder.forward" + ".weight") and is called like a function.
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
  void add_to(const Var& y, const Var& x) const { add_linear(y, x, *weight_); }  // of one without a bias

 private:
  friend class Linears;
  const Parameter* weight_;          // [out,in]
  const Parameter* bias_ = nullptr;  // [out]
};

// Several with biases and of one size, on the same x, by one product.
class Linears {
 public:
  Linears(Parameters& parameters, const std::vector<const Linear*>& all);
  // Only where they lie one after the other, and only on a card: elsewhere larger products are no faster.
  bool suit(const Var& x) const { return weights_ && biases_ && !x.device().on_host(); }
  Var operator()(const Var& x) const {
    return linears(x, weights_.var(), biases_.var(), several_);
  }  // [several,...,out]

 private:
  int64_t several_;
  const JoinedParameters &weights_, &biases_;
};

class Embedding {
 public:
  // Rows begin normal with deviation 1/sqrt(depth).
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
  Residual operator()(const Var& x, const Var& more, float rate) const {
    return layer_norm(x, more, rate, *gamma_, *beta_, epsilon_);
  }

 private:
  const Parameter *gamma_, *beta_;  // [D]
  float epsilon_;
};

class Conv2d {
 public:
  Conv2d(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Window& window);
  Var operator()(const Var& x) const { return conv2d(x, *weight_, *bias_, window_); }

 private:
  const Parameter *weight_, *bias_;  // [O,height,width,C], [O]
  Window window_;
};

}  // namespace fovea
