// The learning rate of each step: a linear warm-up, then one of the schedules.
//   inverse-sqrt: r sqrt(w/t), w the warm-up (Vaswani et al. 2017, section 5.3)
//   cosine:       from r to a final fraction of it along half a cosine wave (Loshchilov & Hutter 2017)
//   plateau:      multiplied by a factor when validation stops improving
#pragma once

#include <cstdint>

namespace fovea {

struct TrainingConfig;

class Schedule {
 public:
  explicit Schedule(const TrainingConfig& config);

  // `step` counts from 1; `done` is the fraction of the run that is done.
  double rate(int64_t step, double done) const;
  // Is called after each validation. Returns whether the rate was lowered.
  bool validated(bool improved);

  // The state that a checkpoint stores.
  struct State {
    double scale = 1;
    int64_t validations_since_best = 0;
  };
  const State& state() const { return state_; }
  void set_state(const State& state) { state_ = state; }

 private:
  enum class Kind { kConstant, kInverseSqrt, kCosine, kPlateau };
  Kind kind_;
  double peak_, final_, factor_;
  int64_t warmup_, patience_;
  State state_;
};

}  // namespace fovea
