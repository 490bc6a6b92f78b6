// What training makes small: cross-entropy, and beside it, where the recipe asks for it, the terms for
// hard choices, coverage and guided alignment. All are means over the words of the batch.
//   hard selection: (ce_t - b) log p(choice_t) - bonus * entropy_t, b the running mean of ce: REINFORCE
//   with the word's log-probability as the reward (Xu et al. 2015, equations 11 and 12)
#pragma once

#include "models/model.h"
#include "text/batches.h"

namespace fovea {

struct TrainingConfig;

class Objective {
 public:
  Objective(const TrainingConfig& config, const AttentionConfig& attention);

  bool needs_weights() const { return guided_ > 0; }
  struct Loss {
    Var total;          // what to differentiate, [1]
    Var cross_entropy;  // its first term, the sum over words, [1]
  };
  // `alignment` [B,1,T,S] is empty where nothing guides.
  Loss operator()(const TeacherForced& forced, const Batch& batch, const Tensor& alignment);

  // What a checkpoint needs: the baseline. NaN before the first batch.
  double baseline() const { return baseline_; }
  void set_baseline(double baseline) { baseline_ = baseline; }

 private:
  Var choices(const TeacherForced& forced, const Batch& batch);

  float smoothing_, coverage_, guided_, entropy_bonus_;
  double decay_, baseline_;
};

// Without smoothing: the sum over the words of the batch, in nats.
double cross_entropy_sum(const Var& logits, const Batch& batch);

}  // namespace fovea
