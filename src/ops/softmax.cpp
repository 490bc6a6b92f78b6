// Masked softmax, its logarithm, and sparsemax, over the last axis. Backward reads only the result.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

ScoreShape score_shape(std::string_view op, const Tensor& x) {
  Expect(op, "x", x).elements().rank(1, Shape::kMaxRank);
  if (x.rank() == 4) return {x.dim(0), x.dim(1), x.dim(2), x.dim(3)};
  if (x.rank() == 3) return {x.dim(0), 1, x.dim(1), x.dim(2)};
  return {1, 1, x.shape().count(0, x.rank() - 1), x.dim(-1)};
}

Var softmax(std::string_view op, const Var& x, const Mask& mask, bool log) {
  const ScoreShape shape = score_shape(op, x.value());
  expect_mask(op, mask, shape, x.value());
  const Device d = x.device();
  const Tensor y = empty_like(x.value());
  kernels(d).softmax(stream(d), {.x = x.value(), .y = y, .shape = shape, .mask = mask, .log = log});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).softmax_grad(stream(d), {.y = y, .dy = dy, .dx = x.grad(), .shape = shape, .log = log});
  });
}

}  // namespace

Var softmax(const Var& x, const Mask& mask) { return softmax("softmax", x, mask, false); }
Var log_softmax(const Var& x, const Mask& mask) { return softmax("log_softmax", x, mask, true); }

Var sparsemax(const Var& x, const Mask& mask) {
  const ScoreShape shape = score_shape("sparsemax", x.value());
  expect_mask("sparsemax", mask, shape, x.value());
  const Device d = x.device();
  const Tensor y = empty_like(x.value());
  kernels(d).sparsemax(stream(d), {.x = x.value(), .y = y, .shape = shape, .mask = mask});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).sparsemax_grad(stream(d), {.y = y, .dy = dy, .dx = x.grad(), .shape = shape});
  });
}

}  // namespace fovea
