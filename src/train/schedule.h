// What the learning rate is at each step: a linear warm-up, then one of the schedules.
//   inverse-sqrt: r sqrt(w/t), w the warm-up (Vaswani et al. 2017, section 5.3)
//   cosine:       from r to its final share along half a wave (Loshchilov & Hutter 2017)
//   plateau:      multiplied by a factor when validation stops improving
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

struct TrainingConfig;

std::vector<std::string> schedule_names();

class Schedule {
 public:
  explicit Schedule(const TrainingConfig& config);

  // `step` counts from 1; `done` is the share of the run that is over, in [0, 1].
  double rate(int64_t step, double done) const;
  // After each validation. True if the rate was lowered.
  bool validated(bool improved);

  // What a checkpoint needs.
  struct State {
    double scale = 1;
    int64_t waited = 0;  // validations without improvement
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
