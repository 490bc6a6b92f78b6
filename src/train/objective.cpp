#include "train/objective.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "train/recipe.h"

namespace fovea {

namespace {

constexpr float kSmallestWeight = 1e-6f;  // a log must not meet 0

// 1 where a word is, 0 where padding is: [T,B].
Tensor word_mask(const Batch& batch) {
  const auto words = to_host<int32_t>(batch.target_out);
  std::vector<float> mask(words.size());
  std::transform(words.begin(), words.end(), mask.begin(), [](int32_t word) { return word == kPad ? 0.0f : 1.0f; });
  return from_host(mask, batch.target_out.shape(), batch.target_out.device());
}

}  // namespace

Objective::Objective(const TrainingConfig& config, const AttentionConfig& attention)
    : smoothing_(static_cast<float>(config.label_smoothing)),
      coverage_(static_cast<float>(config.coverage_loss)),
      guided_(static_cast<float>(config.guided_alignment)),
      entropy_bonus_(static_cast<float>(attention.entropy_bonus)),
      decay_(config.baseline_decay),
      baseline_(std::numeric_limits<double>::quiet_NaN()) {}

Objective::Loss Objective::operator()(const TeacherForced& forced, const Batch& batch, const Tensor& alignment) {
  Loss loss;
  loss.cross_entropy = sum(cross_entropy(forced.logits, batch.target_out, smoothing_, kPad, true));
  Var total = loss.cross_entropy;
  if (forced.selection_log_prob) total = total + choices(forced, batch);
  if (coverage_ > 0 && forced.coverage_loss) {
    // The first step has nothing behind it that could be covered again.
    const int64_t steps = batch.target_out.dim(0), first = steps - forced.coverage_loss.dim(0);
    total = total + affine(sum(forced.coverage_loss * Var(word_mask(batch).slice(first, steps))), coverage_);
  }
  if (guided_ > 0 && alignment) {
    const AttentionTrace* last = nullptr;
    for (const AttentionTrace& taken : forced.attentions) {
      if (taken.kind == AttentionTrace::Kind::kCross && (!last || taken.layer > last->layer)) last = &taken;
    }
    check(last != nullptr,
          "training.guided_alignment: expected a model that attends to the source, got one without attention");
    const Var weights = mean(last->weights, 1).reshape(alignment.shape());
    total = total + affine(sum(Var(alignment) * log(affine(weights, 1.0f, kSmallestWeight))), -guided_);
  }
  loss.total = total.reshape({1}) * cast(Var(batch.token_share), total.dtype());
  return loss;
}

Var Objective::choices(const TeacherForced& forced, const Batch& batch) {
  // Losses of the words as they came, without smoothing and as constants.
  const Tensor logits = forced.logits.value();
  const Tensor losses = cross_entropy(Var(logits), batch.target_out, 0.0f, kPad).value();
  const auto host = to_host<float>(losses);
  double total = 0;
  for (const float x : host) total += x;
  const double mean_loss = total / static_cast<double>(batch.target_tokens);
  if (std::isnan(baseline_)) baseline_ = mean_loss;
  const Var mask(word_mask(batch));
  const Var advantage = affine(Var(losses), 1.0f, -static_cast<float>(baseline_)) * mask;
  baseline_ = decay_ * baseline_ + (1 - decay_) * mean_loss;
  const Var reinforce = sum(Var(advantage.value()) * forced.selection_log_prob);
  return reinforce + affine(sum(mask * forced.entropy), -entropy_bonus_);
}

double cross_entropy_sum(const Var& logits, const Batch& batch) {
  return to_host<float>(sum(cross_entropy(logits, batch.target_out, 0.0f, kPad)).value())[0];
}

}  // namespace fovea
