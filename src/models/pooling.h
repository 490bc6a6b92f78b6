// From the states of an encoder to one vector for each sentence.
//   attention (Yang et al. 2016, equations 8 to 10): u = tanh(W h + b), weights = softmax(v . u)
//   structured (Lin et al. 2017): A = softmax(V tanh(W h)) has a row for each of several hops; their contexts A H are
//   concatenated, and the penalty ||A A^T - I||_F^2 asks the hops to attend to different tokens
//   mean, max: of each feature over the tokens
#pragma once

#include <optional>
#include <string>

#include "models/attention_trace.h"
#include "models/classifier_config.h"
#include "nn/layers.h"

namespace fovea {

struct Pooled {
  Var features;  // [B,F]
  Var weights;   // [B,1,R,S]: of the R hops; absent for a pooling without attention
};

class Pooling {
 public:
  // The states have `depth` features.
  Pooling(Parameters& parameters, const std::string& name, const PoolingConfig& config, int64_t depth);
  Pooled operator()(const Var& states, const Tensor& lengths) const;
  int64_t depth() const { return depth_; }  // F
  // ||A A^T - I||_F^2 of each sentence, [B].
  static Var penalty(const Var& weights);

 private:
  PoolingConfig config_;
  int64_t depth_ = 0;
  std::optional<Linear> hidden_, score_;  // of the pooling with attention
};

}  // namespace fovea
