// Cross-entropy with label smoothing: one loss per row, 0 where the target is `ignore`. Backward reads the logits and
// one number per row, the log-sum-exp.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

// The value has no smoothing unless `smoothed_value`; the gradient has it in any case.
Var cross_entropy(const Var& logits, const Tensor& targets, float smoothing, int32_t ignore, bool consume,
                  bool smoothed_value) {
  Expect("cross_entropy", "logits", logits.value()).elements().rank(1, Shape::kMaxRank);
  const Shape rows = logits.shape().without(-1);
  Expect("cross_entropy", "targets", targets).dtype(DType::kI32).on(logits.device()).shape(rows);
  check(smoothing >= 0.0f && smoothing < 1.0f, "cross_entropy: expected a smoothing in [0,1), got {}", smoothing);
  const Device d = logits.device();
  if (d.on_host()) {
    const int32_t* target = targets.data<int32_t>();
    for (int64_t i = 0; i < targets.size(); ++i) {
      check(target[i] == ignore || (target[i] >= 0 && target[i] < logits.dim(-1)),
            "cross_entropy: expected targets below {} or {}, got {} at {}", logits.dim(-1), ignore, target[i], i);
    }
  }
  const DType statistics = accumulator_of(logits.dtype());
  const Tensor loss = empty(rows, statistics, d), lse = empty(rows, statistics, d);
  kernels(d).cross_entropy(stream(d), {.logits = logits.value(),
                                       .targets = targets,
                                       .loss = loss,
                                       .lse = lse,
                                       .smoothing = smoothed_value ? smoothing : 0.0f,
                                       .ignore = ignore});
  return Tape::add_node(loss, {logits}, [=](const Tensor& dloss) {
    if (consume) logits.gradient()->adopt_storage(logits.value());
    kernels(d).cross_entropy_grad(stream(d), {.logits = logits.value(),
                                              .targets = targets,
                                              .lse = lse,
                                              .dloss = dloss,
                                              .dlogits = logits.grad(),
                                              .smoothing = smoothing,
                                              .ignore = ignore});
  });
}

}  // namespace

Var cross_entropy(const Var& logits, const Tensor& targets, float smoothing, int32_t ignore, bool consume) {
  return cross_entropy(logits, targets, smoothing, ignore, consume, true);
}

Var negative_log_likelihood(const Var& logits, const Tensor& targets, float smoothing, int32_t ignore, bool consume) {
  return cross_entropy(logits, targets, smoothing, ignore, consume, false);
}

}  // namespace fovea
