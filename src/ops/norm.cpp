// Layer normalisation (Ba et al. 2016), and rows scaled to length 1 for cosine scores.
#include "ops/check.h"
#include "ops/lots.h"
#include "ops/ops.h"

namespace fovea {

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, float epsilon) {
  Expect("layer_norm", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  Expect("layer_norm", "gamma", gamma.value()).parameter_of(x.value()).shape({x.dim(-1)});
  Expect("layer_norm", "beta", beta.value()).parameter_of(x.value()).shape({x.dim(-1)});
  const Device d = x.device();
  const Shape rows = {x.shape().count(0, x.rank() - 1)};
  const DType statistics = accumulator_of(x.dtype());
  const Tensor y = empty_like(x.value()), mean = empty(rows, statistics, d), rstd = empty(rows, statistics, d);
  kernels(d).layer_norm(stream(d), {.x = x.value(),
                                    .gamma = gamma.value(),
                                    .beta = beta.value(),
                                    .y = y,
                                    .mean = mean,
                                    .rstd = rstd,
                                    .epsilon = epsilon});
  return Tape::record(y, {x, gamma, beta}, [=](const Tensor& dy) {
    const Gradient::Slot to = x.needs_grad() ? x.grad_slot() : Gradient::Slot{};
    kernels(d).layer_norm_grad(stream(d), {.x = x.value(),
                                           .gamma = gamma.value(),
                                           .mean = mean,
                                           .rstd = rstd,
                                           .dy = dy,
                                           .dx = to.tensor,
                                           .dgamma = gamma.grad(),
                                           .dbeta = beta.grad(),
                                           .accumulate = to.accumulate});
  });
}

Residual layer_norm(const Var& x, const Var& more, float rate, const Var& gamma, const Var& beta, float epsilon) {
  Expect("layer_norm", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  Expect("layer_norm", "what is added", more.value()).like(x.value()).shape(x.shape());
  Expect("layer_norm", "gamma", gamma.value()).parameter_of(x.value()).shape({x.dim(-1)});
  Expect("layer_norm", "beta", beta.value()).parameter_of(x.value()).shape({x.dim(-1)});
  const RandomSite random = lots_of_dropout(rate);
  const float dropped = random.step ? rate : 0.0f;
  const Device d = x.device();
  const Shape rows = {x.shape().count(0, x.rank() - 1)};
  const DType statistics = accumulator_of(x.dtype());
  const Tensor sum = empty_like(x.value()), y = empty_like(x.value());
  const Tensor mean = empty(rows, statistics, d), rstd = empty(rows, statistics, d);
  kernels(d).layer_norm(stream(d), {.x = x.value(),
                                    .gamma = gamma.value(),
                                    .beta = beta.value(),
                                    .y = y,
                                    .mean = mean,
                                    .rstd = rstd,
                                    .epsilon = epsilon,
                                    .more = more.value(),
                                    .sum = sum,
                                    .rate = dropped,
                                    .random = random});
  // What comes to the sum itself is added to, and all of it goes to x, and to what is added.
  const auto back = [=](const Tensor& dy, const Tensor& dz) {
    const Tensor dsum = dz ? dz : empty_like(sum);
    const auto [dmore, accumulate] = more.needs_grad() ? more.grad_slot() : Gradient::Slot{};
    if (dy) {
      kernels(d).layer_norm_grad(stream(d), {.x = sum,
                                             .gamma = gamma.value(),
                                             .mean = mean,
                                             .rstd = rstd,
                                             .dy = dy,
                                             .dx = dsum,
                                             .dgamma = gamma.grad(),
                                             .dbeta = beta.grad(),
                                             .accumulate = static_cast<bool>(dz),
                                             .dmore = dmore,
                                             .accumulate_more = accumulate,
                                             .rate = dropped,
                                             .random = random});
    } else if (dmore) {
      kernels(d).dropout(stream(d),
                         {.x = dsum, .y = dmore, .rate = dropped, .random = random, .accumulate = accumulate});
    }
    if (!x.needs_grad() || (dz && Tape::current()->hand_over(x, /*second=*/true))) return;
    if (!dz) x.gradient()->begin_in(dsum);
    const auto [dx, add] = x.grad_slot();
    if (dx.raw() == dsum.raw()) return;
    kernels(d).affine(stream(d), {.x = dsum, .y = dx, .accumulate = add});
    if (!dz) Tape::current()->give_back(dsum);
  };
  const auto [normed, added] = Tape::record(y, sum, {x, more, gamma, beta}, back);
  return {added, normed};
}

Var normalize(const Var& x, float epsilon) {
  Expect("normalize", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  const Device d = x.device();
  const Tensor y = empty_like(x.value());
  const Tensor scale = empty({x.shape().count(0, x.rank() - 1)}, accumulator_of(x.dtype()), d);
  kernels(d).normalize(stream(d), {.x = x.value(), .y = y, .scale = scale, .epsilon = epsilon});
  return Tape::record(y, {x}, [=](const Tensor& dy) {
    kernels(d).normalize_grad(stream(d), {.y = y, .scale = scale, .dy = dy, .dx = x.grad()});
  });
}

}  // namespace fovea
