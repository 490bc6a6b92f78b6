#include "tasks/sequence_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "recipe/recipe.h"

namespace fovea {

namespace {

constexpr float kLogEpsilon = 1e-6f;  // is added to attention weights, whose logarithm is taken

// 1 for target tokens, 0 for padding: [T,B].
Tensor token_mask(const Batch& batch) {
  const auto ids = to_host<int32_t>(batch.target_out);
  std::vector<float> mask(ids.size());
  std::transform(ids.begin(), ids.end(), mask.begin(), [](int32_t id) { return id == kPad ? 0.0f : 1.0f; });
  return from_host(mask, batch.target_out.shape(), batch.target_out.device());
}

}  // namespace

SequenceLoss::SequenceLoss(const TrainingConfig& config, const AttentionConfig& attention)
    : smoothing_(static_cast<float>(config.label_smoothing)),
      coverage_(static_cast<float>(config.coverage_loss)),
      guided_(static_cast<float>(config.guided_alignment)),
      entropy_bonus_(static_cast<float>(attention.entropy_bonus)),
      guided_layer_(config.guided_layer),
      guided_head_(config.guided_head),
      decay_(config.baseline_decay),
      baseline_(std::numeric_limits<double>::quiet_NaN()) {}

Var SequenceLoss::guided_weights(const TeacherForced& forced) const {
  const AttentionTrace* guided = nullptr;
  int64_t layers = 0;
  for (const AttentionTrace& trace : forced.attentions) {
    if (trace.kind != AttentionKind::kCross) continue;
    layers = std::max(layers, trace.layer + 1);
    const bool wanted = guided_layer_ == 0 ? !guided || trace.layer > guided->layer : trace.layer + 1 == guided_layer_;
    if (wanted) guided = &trace;
  }
  check(layers > 0,
        "training.guided_alignment: expected a model that attends to the source, got one without attention");
  check(guided != nullptr, "training.guided_layer: expected at most {}, the number of layers that attend, got {}",
        layers, guided_layer_);
  if (guided_head_ == 0) return mean(guided->weights, 1);
  return columns(permute(guided->weights, {0, 2, 3, 1}), guided_head_ - 1, guided_head_);
}

TaskLoss SequenceLoss::operator()(const TeacherForced& forced, const Batch& batch, const Tensor& alignment) {
  TaskLoss loss;
  loss.sum =
      sum(forced.losses ? forced.losses : cross_entropy(forced.logits, batch.target_out, smoothing_, kPad, true));
  Var total = loss.sum;
  if (forced.selection_log_prob) total = total + reinforce(forced, batch);
  if (coverage_ > 0 && forced.coverage_loss) {
    // The first step has no coverage loss, because no step precedes it.
    const int64_t steps = batch.target_out.dim(0), first = steps - forced.coverage_loss.dim(0);
    total = total + affine(sum(forced.coverage_loss * Var(token_mask(batch).slice(first, steps))), coverage_);
  }
  if (guided_ > 0 && alignment) {
    const Var weights = cast(guided_weights(forced), alignment.dtype()).reshape(alignment.shape());
    total = total + affine(sum(Var(alignment) * log(affine(weights, 1.0f, kLogEpsilon))), -guided_);
  }
  loss.total = total.reshape({1}) * cast(Var(batch.token_share), total.dtype());
  return loss;
}

Var SequenceLoss::reinforce(const TeacherForced& forced, const Batch& batch) {
  // The losses of the tokens enter without smoothing and as constants.
  const Tensor losses = forced.losses ? forced.losses.value()
                                      : cross_entropy(Var(forced.logits.value()), batch.target_out, 0.0f, kPad).value();
  const auto host = to_host<float>(losses);
  double total = 0;
  for (const float x : host) total += x;
  const double mean_loss = total / static_cast<double>(batch.target_tokens);
  if (std::isnan(baseline_)) baseline_ = mean_loss;
  const Var mask(token_mask(batch));
  const Var advantage = affine(Var(losses), 1.0f, -static_cast<float>(baseline_)) * mask;
  baseline_ = decay_ * baseline_ + (1 - decay_) * mean_loss;
  const Var score = sum(Var(advantage.value()) * forced.selection_log_prob);
  return score + affine(sum(mask * forced.entropy), -entropy_bonus_);
}

KnownTargets SequenceLoss::targets(const Batch& batch) const { return targets_of(batch, smoothing_); }

KnownTargets targets_of(const Batch& batch, float smoothing) {
  return {.ids = batch.target_out, .generated = batch.generated, .smoothing = smoothing, .ignore = kPad};
}

double cross_entropy_sum(const TeacherForced& forced, const Batch& batch) {
  const Var losses = forced.losses ? forced.losses : cross_entropy(forced.logits, batch.target_out, 0.0f, kPad);
  return to_host<float>(sum(losses).value())[0];
}

}  // namespace fovea
