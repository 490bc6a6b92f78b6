// Batch normalisation (Ioffe & Szegedy 2015) over the last axis, and its folding into a convolution.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var batch_norm(const Var& x, const Var& gamma, const Var& beta, const RunningStatistics& running, float momentum,
               float epsilon) {
  Expect("batch_norm", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  const Shape channels = {x.dim(-1)};
  Expect("batch_norm", "gamma", gamma.value()).parameter_of(x.value()).shape(channels);
  Expect("batch_norm", "beta", beta.value()).parameter_of(x.value()).shape(channels);
  Expect("batch_norm", "the running mean", running.mean).parameter_of(x.value()).shape(channels);
  Expect("batch_norm", "the running variance", running.variance).parameter_of(x.value()).shape(channels);
  const bool training = Tape::current() != nullptr && Tape::current()->training();
  const int64_t rows = x.shape().count(0, x.rank() - 1);
  check(!training || rows > 1, "batch_norm: expected at least 2 values of each channel in training, got {}", rows);
  const Device d = x.device();
  const BatchNormArgs args{.x = x.value(),
                           .gamma = gamma.value(),
                           .beta = beta.value(),
                           .running_mean = running.mean,
                           .running_variance = running.variance,
                           .y = empty_like(x.value()),
                           .mean = empty(channels, accumulator_of(x.dtype()), d),
                           .rstd = empty(channels, accumulator_of(x.dtype()), d),
                           .epsilon = epsilon,
                           .momentum = momentum,
                           .training = training};
  kernels(d).batch_norm(stream(d), args);
  return Tape::add_node(args.y, {x, gamma, beta}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.needs_grad() ? x.grad_slot() : Gradient::Slot{};
    kernels(d).batch_norm_grad(stream(d), {.x = args.x,
                                           .gamma = args.gamma,
                                           .mean = args.mean,
                                           .rstd = args.rstd,
                                           .dy = dy,
                                           .dx = dx,
                                           .dgamma = gamma.grad(),
                                           .dbeta = beta.grad(),
                                           .training = args.training,
                                           .accumulate = accumulate});
  });
}

ConvParameters fold_batch_norm(const ConvParameters& conv, const Var& gamma, const Var& beta,
                               const RunningStatistics& running, float epsilon) {
  Expect("fold_batch_norm", "the weight", conv.weight.value()).elements().rank(3, 4);
  const bool depthwise = conv.weight.rank() == 3;
  const Shape channels = {conv.weight.dim(depthwise ? -1 : 0)};
  if (conv.bias) Expect("fold_batch_norm", "the bias", conv.bias.value()).like(conv.weight.value()).shape(channels);
  Expect("fold_batch_norm", "gamma", gamma.value()).like(conv.weight.value()).shape(channels);
  Expect("fold_batch_norm", "beta", beta.value()).like(conv.weight.value()).shape(channels);
  Expect("fold_batch_norm", "the running mean", running.mean).like(conv.weight.value()).shape(channels);
  Expect("fold_batch_norm", "the running variance", running.variance).like(conv.weight.value()).shape(channels);
  const Var scale = gamma / sqrt(affine(running.variance, 1.0f, epsilon));
  const Var per_output = depthwise ? scale : scale.reshape({channels[0], 1, 1, 1});
  const Var centred = conv.bias ? conv.bias - running.mean : affine(running.mean, -1.0f);
  return {conv.weight * per_output, centred * scale + beta};
}

}  // namespace fovea
