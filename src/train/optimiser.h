// Optimisers: one fused pass over all parameters that clips the gradient by its global norm, updates the weights, and
// sets the gradient to zero for the next step.
#pragma once

#include <cstdint>
#include <functional>

#include "nn/parameters.h"

namespace fovea {

struct OptimiserOptions {
  enum class Kind { kSgd, kAdam, kAdamW };
  Kind kind = Kind::kAdam;
  float clip_norm = 0.0f;     // maximum global norm of the gradient; 0: no clipping
  float weight_decay = 0.0f;  // of matrices; decoupled for AdamW, added to the gradient otherwise
  float momentum = 0.0f;      // SGD
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  // Adam
};

class Optimiser {
 public:
  Optimiser(Parameters& parameters, const OptimiserOptions& options);

  void step(float learning_rate);
  // The same through `run`, which calls the update it is given or launches a CUDA graph that has captured it. The
  // learning rate and the bias corrections are copied to the device before; the step is counted afterwards, so that
  // an update that fails does not count.
  using Update = std::function<void()>;
  void step(float learning_rate, const std::function<void(const Update&)>& run);
  // The norm of the last step's gradient before clipping. Waits for the device.
  double grad_norm() const;

  // The state that a checkpoint stores: the number of steps and the moving averages (empty if the kind has none).
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  const Tensor& first_moment() const { return first_; }    // Adam's m, SGD's velocity
  const Tensor& second_moment() const { return second_; }  // Adam's v

 private:
  void update();
  void update(int64_t begin, int64_t end, float weight_decay);

  Parameters& parameters_;
  OptimiserOptions options_;
  int64_t steps_ = 0;
  Tensor first_, second_;       // laid out like Parameters::values
  Tensor rate_, squared_norm_;  // [3], [1] (see kernels.h)
};

}  // namespace fovea
