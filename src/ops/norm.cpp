// Layer normalisation (Ba et al. 2016), and rows scaled to length 1 for cosine scores.
#include "ops/check.h"
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
