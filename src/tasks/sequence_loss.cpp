#include "tasks/sequence_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/ensemble.h"
#include "ops/ops.h"
#include "recipe/recipe.h"

namespace fovea {

namespace {

constexpr float kLogEpsilon = 1e-6f;  // is added to attention weights, whose logarithm is taken

// 1 where a state of the source counts, [B,S].
Tensor source_mask(const Batch& batch) {
  const int64_t states = batch.source.dim(0), sentences = batch.source.dim(1);
  const auto lengths = to_host<int32_t>(batch.source_lengths);
  std::vector<float> mask(static_cast<size_t>(sentences * states));
  for (int64_t b = 0; b < sentences; ++b) std::fill_n(mask.begin() + b * states, lengths[static_cast<size_t>(b)], 1.0f);
  return from_host(mask, {sentences, states}, batch.source.device());
}

}  // namespace

SequenceLoss::SequenceLoss(const TrainingConfig& config, const AttentionConfig& attention)
    : smoothing_(static_cast<float>(config.label_smoothing)),
      coverage_(static_cast<float>(config.coverage_loss)),
      guided_(static_cast<float>(config.guided_alignment)),
      doubly_stochastic_(static_cast<float>(config.doubly_stochastic)),
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

Var SequenceLoss::doubly_stochastic(const TeacherForced& forced, const Batch& batch) const {
  const AttentionTrace* last = nullptr;
  for (const AttentionTrace& trace : forced.attentions) {
    if (trace.kind == AttentionKind::kCross && (!last || trace.layer > last->layer)) last = &trace;
  }
  check(last != nullptr, "training.doubly_stochastic: expected a model that attends, got one without attention");
  const Var& weights = last->weights;  // [B,H,T,S]
  const int64_t sentences = weights.dim(0), heads = weights.dim(1), steps = weights.dim(2), states = weights.dim(3);
  // The steps and states of padding do not count.
  const Var mask = permute(Var(batch.target_mask), {1, 0}).reshape({sentences, 1, steps, 1});
  const Var received = sum(cast(weights, DType::kF32) * mask, 2).reshape({sentences, heads, states});
  const Var missing = affine(received, -1.0f, 1.0f);
  Var squares = missing * missing;
  if (!batch.images) squares = squares * Var(source_mask(batch)).reshape({sentences, 1, states});
  return affine(sum(squares), 1.0f / static_cast<float>(heads));
}

TaskLoss SequenceLoss::operator()(const TeacherForced& forced, const Batch& batch, const Tensor& alignment) {
  TaskLoss loss;
  Var logits = forced.logits;
  if (logits && batch.logit_bias) {
    logits = logits + cast(Var(batch.logit_bias), logits.dtype()).reshape({1, 1, logits.dim(2)});
  }
  const Var losses = forced.losses ? forced.losses : cross_entropy(logits, batch.target_out, smoothing_, kPad, true);
  loss.sum = sum(losses);
  Var total = batch.target_weights ? sum(losses * Var(batch.target_weights)) : loss.sum;
  if (forced.selection_log_prob) total = total + reinforce(forced, batch);
  if (coverage_ > 0 && forced.coverage_loss) {
    // The first step has no coverage loss, because no step precedes it.
    const int64_t steps = batch.target_out.dim(0), first = steps - forced.coverage_loss.dim(0);
    total = total + affine(sum(forced.coverage_loss * Var(batch.target_mask.slice(first, steps))), coverage_);
  }
  if (guided_ > 0 && alignment) {
    const Var weights = cast(guided_weights(forced), alignment.dtype()).reshape(alignment.shape());
    total = total + affine(sum(Var(alignment) * log(affine(weights, 1.0f, kLogEpsilon))), -guided_);
  }
  if (doubly_stochastic_ > 0) total = total + affine(doubly_stochastic(forced, batch), doubly_stochastic_);
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
  const Var mask(batch.target_mask);
  const Var advantage = affine(Var(losses), 1.0f, -static_cast<float>(baseline_)) * mask;
  baseline_ = decay_ * baseline_ + (1 - decay_) * mean_loss;
  const DType type = losses.dtype();  // of bf16 attention, f32
  const Var score = sum(Var(advantage.value()) * cast(forced.selection_log_prob, type));
  return score + affine(sum(mask * cast(forced.entropy, type)), -entropy_bonus_);
}

KnownTargets SequenceLoss::targets(const Batch& batch) const { return targets_of(batch, smoothing_); }

KnownTargets targets_of(const Batch& batch, float smoothing) {
  return {.ids = batch.target_out, .generated = batch.generated, .smoothing = smoothing, .ignore = kPad};
}

double cross_entropy_sum(const TeacherForced& forced, const Batch& batch) {
  const Var losses = forced.losses ? forced.losses : cross_entropy(forced.logits, batch.target_out, 0.0f, kPad);
  return to_host<float>(sum(losses).value())[0];
}

double mean_cross_entropy(const EncoderDecoder& model, const ParallelCorpus& pairs, BatchOptions options, Device device,
                          const CopyOptions& copies, const ImageSource* images) {
  options.shuffle = false;
  Batcher batcher(pairs, options);
  Arena arena(device);
  const ArenaScope scope(&arena);
  double sum = 0;
  int64_t tokens = 0;
  for (int64_t i = 0; i < batcher.batches(); ++i) {
    Batch batch = batcher.next(device, copies);
    if (images != nullptr) add_images(batch, *images);
    const KnownTargets targets = targets_of(batch);
    sum += cross_entropy_sum(model.teacher_force(source_of(batch), batch.target_in, {}, {}, &targets), batch);
    tokens += batch.target_tokens;
    arena.rewind();
  }
  return sum / static_cast<double>(tokens);
}

std::map<std::string, double> stored_state(const Batcher::State& data, const SequenceLoss& loss) {
  return {{"epoch", static_cast<double>(data.epoch)},
          {"next_batch", static_cast<double>(data.next)},
          {"baseline", loss.baseline()}};
}

Batcher::State restored_state(const std::map<std::string, double>& state, SequenceLoss& loss) {
  loss.set_baseline(state.at("baseline"));
  return {.epoch = static_cast<int64_t>(state.at("epoch")), .next = static_cast<int64_t>(state.at("next_batch"))};
}

}  // namespace fovea
