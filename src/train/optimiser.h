// Optimisers: one fused pass over all parameters that clips the gradient by its global norm, updates,
// and sets the gradient to zero for the next step.
#pragma once

#include <cstdint>

#include "nn/parameters.h"

namespace fovea {

struct OptimiserOptions {
  enum class Kind { kSgd, kAdam, kAdamW };
  Kind kind = Kind::kAdam;
  float clip_norm = 0.0f;     // largest global norm of the gradient; 0: no clipping
  float weight_decay = 0.0f;  // of matrices; decoupled for AdamW, added to the gradient otherwise
  float momentum = 0.0f;      // SGD
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f;  // Adam
};

class Optimiser {
 public:
  Optimiser(Parameters& parameters, const OptimiserOptions& options);

  void step(float learning_rate);
  // Its two halves: what comes from the host, and the work on the device, which may be recorded once and repeated.
  void prepare(float learning_rate);
  void apply();
  // The norm of the last step's gradient before clipping. Waits for the device.
  double grad_norm() const;

  // What a checkpoint needs: steps taken and the moving averages (empty where the kind has none).
  int64_t steps() const { return steps_; }
  void set_steps(int64_t steps) { steps_ = steps; }
  const Tensor& first_moment() const { return first_; }    // Adam's m, SGD's velocity
  const Tensor& second_moment() const { return second_; }  // Adam's v

 private:
  void update(int64_t begin, int64_t end, float weight_decay);

  Parameters& parameters_;
  OptimiserOptions options_;
  int64_t steps_ = 0;
  Tensor first_, second_;       // like Parameters::values
  Tensor rate_, squared_norm_;  // [3], [1] (see kernels.h)
};

}  // namespace fovea
