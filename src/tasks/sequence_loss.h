// The loss of text to text: cross-entropy, plus the terms for hard selection, coverage and guided alignment that the
// recipe asks for. Each term is a mean over the target tokens of the batch.
//   hard selection: (ce_t - b) log p(position_t) - bonus * entropy_t, b the moving average of ce: REINFORCE with the
//   token's log-probability as the reward (Xu et al. 2015, equations 11 and 12)
//   doubly stochastic: sum_s (1 - sum_t a_ts)^2 of each head of the last layer (Xu et al. 2015, equation 14)
#pragma once

#include "decode/search.h"
#include "models/model.h"
#include "tasks/task.h"
#include "text/batches.h"

namespace fovea {

struct TrainingConfig;

class SequenceLoss {
 public:
  SequenceLoss(const TrainingConfig& config, const AttentionConfig& attention);

  bool needs_weights() const { return guided_ > 0 || doubly_stochastic_ > 0; }
  // The targets of a batch, whose losses a model that copies computes itself. Label smoothing then applies to the
  // tokens that it generates, not to copying.
  KnownTargets targets(const Batch& batch) const;
  // The reported sum is that of the cross-entropy. `alignment` [B,1,T,S] is empty without guided alignment.
  TaskLoss operator()(const TeacherForced& forced, const Batch& batch, const Tensor& alignment);

  // The moving average b; NaN before the first batch. A checkpoint stores it.
  double baseline() const { return baseline_; }
  void set_baseline(double baseline) { baseline_ = baseline; }

 private:
  Var reinforce(const TeacherForced& forced, const Batch& batch);
  Var guided_weights(const TeacherForced& forced) const;  // of B, T, S
  Var doubly_stochastic(const TeacherForced& forced, const Batch& batch) const;

  float smoothing_, coverage_, guided_, doubly_stochastic_, entropy_bonus_;
  int64_t guided_layer_, guided_head_;  // counted from 1; 0: the last layer, the mean over heads
  double decay_, baseline_;
};

KnownTargets targets_of(const Batch& batch, float smoothing = 0.0f);

// Without smoothing: the sum over the target tokens of the batch, in nats.
double cross_entropy_sum(const TeacherForced& forced, const Batch& batch);

// The mean cross-entropy of the pairs, by target token. Sources that are numbers of pictures have `images`.
double mean_cross_entropy(const EncoderDecoder& model, const ParallelCorpus& pairs, BatchOptions options, Device device,
                          const CopyOptions& copies, const ImageSource* images = nullptr);

// What a checkpoint stores of a task with this loss: the position in the data and the loss's moving average.
std::map<std::string, double> stored_state(const Batcher::State& data, const SequenceLoss& loss);
Batcher::State restored_state(const std::map<std::string, double>& state, SequenceLoss& loss);

}  // namespace fovea
