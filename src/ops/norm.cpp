// Layer normalisation (Ba et al. 2016), and rows scaled to length 1 for cosine scores.
#include "ops/check.h"
#include "ops/dropout_stream.h"
#include "ops/ops.h"

namespace fovea {

namespace {

LayerNormArgs layer_norm_args(const Var& x, const Var& gamma, const Var& beta, float epsilon) {
  Expect("layer_norm", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  Expect("layer_norm", "gamma", gamma.value()).parameter_of(x.value()).shape({x.dim(-1)});
  Expect("layer_norm", "beta", beta.value()).parameter_of(x.value()).shape({x.dim(-1)});
  const Shape rows = {x.shape().count(0, x.rank() - 1)};
  const DType statistics = accumulator_of(x.dtype());
  return {.x = x.value(),
          .gamma = gamma.value(),
          .beta = beta.value(),
          .y = empty_like(x.value()),
          .mean = empty(rows, statistics, x.device()),
          .rstd = empty(rows, statistics, x.device()),
          .epsilon = epsilon};
}

// With a residual, the x of the gradient is the sum.
LayerNormGradArgs layer_norm_grad_args(const LayerNormArgs& args, const Var& gamma, const Var& beta, const Tensor& dy) {
  return {.x = args.residual ? args.sum : args.x,
          .gamma = args.gamma,
          .mean = args.mean,
          .rstd = args.rstd,
          .dy = dy,
          .dgamma = gamma.grad(),
          .dbeta = beta.grad(),
          .rate = args.rate,
          .random = args.random};
}

}  // namespace

Var layer_norm(const Var& x, const Var& gamma, const Var& beta, float epsilon) {
  const LayerNormArgs args = layer_norm_args(x, gamma, beta, epsilon);
  const Device d = x.device();
  kernels(d).layer_norm(stream(d), args);
  return Tape::add_node(args.y, {x, gamma, beta}, [=](const Tensor& dy) {
    LayerNormGradArgs back = layer_norm_grad_args(args, gamma, beta, dy);
    if (x.needs_grad()) {
      const auto [dx, accumulate] = x.grad_slot();
      back.dx = dx;
      back.accumulate = accumulate;
    }
    kernels(d).layer_norm_grad(stream(d), back);
  });
}

Residual layer_norm(const Var& x, const Var& residual, float rate, const Var& gamma, const Var& beta, float epsilon) {
  LayerNormArgs args = layer_norm_args(x, gamma, beta, epsilon);
  Expect("layer_norm", "the residual", residual.value()).like(x.value()).shape(x.shape());
  args.residual = residual.value();
  args.sum = empty_like(x.value());
  args.random = dropout_stream(rate);
  args.rate = args.random.step ? rate : 0.0f;
  const Device d = x.device();
  kernels(d).layer_norm(stream(d), args);
  // The gradient of the norm is added to dz, the gradient of the sum itself. Their total is the gradient of x and,
  // through the dropout, of the residual.
  const auto back = [=](const Tensor& dy, const Tensor& dz) {
    const Tensor dsum = dz ? dz : empty_like(args.sum);
    const auto [dresidual, accumulate] = residual.needs_grad() ? residual.grad_slot() : Gradient::Slot{};
    if (dy) {
      LayerNormGradArgs of_norm = layer_norm_grad_args(args, gamma, beta, dy);
      of_norm.dx = dsum;
      of_norm.accumulate = static_cast<bool>(dz);
      of_norm.dresidual = dresidual;
      of_norm.accumulate_residual = accumulate;
      kernels(d).layer_norm_grad(stream(d), of_norm);
    } else if (dresidual) {
      kernels(d).dropout(
          stream(d), {.x = dsum, .y = dresidual, .rate = args.rate, .random = args.random, .accumulate = accumulate});
    }
    if (!x.needs_grad() || (dz && Tape::current()->move_gradient_to(x, /*second=*/true))) return;
    if (!dz) x.gradient()->adopt_storage(dsum);
    const auto [dx, add] = x.grad_slot();
    if (dx.raw() == dsum.raw()) return;
    kernels(d).affine(stream(d), {.x = dsum, .y = dx, .accumulate = add});
    if (!dz) Tape::current()->release(dsum);
  };
  const auto [normed, sum] = Tape::add_node(args.y, args.sum, {x, residual, gamma, beta}, back);
  return {sum, normed};
}

Var normalize(const Var& x, float epsilon) {
  Expect("normalize", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  const Device d = x.device();
  const Tensor y = empty_like(x.value());
  const Tensor scale = empty({x.shape().count(0, x.rank() - 1)}, accumulator_of(x.dtype()), d);
  kernels(d).normalize(stream(d), {.x = x.value(), .y = y, .scale = scale, .epsilon = epsilon});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).normalize_grad(stream(d), {.y = y, .scale = scale, .dy = dy, .dx = x.grad()});
  });
}

}  // namespace fovea
