// Sums, means and maxima over one axis or all. The gradient of a sum goes to every element, that of a maximum to the
// element that is the maximum.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

struct Extent {
  int64_t outer, count, inner;
};

Extent extent(const Shape& shape, int axis) {
  const int at = axis < 0 ? axis + shape.rank() : axis;
  check(at >= 0 && at < shape.rank(), "reduce: expected an axis of {}, got {}", shape, axis);
  return {shape.count(0, at), shape[at], shape.count(at + 1, shape.rank())};
}

Var reduce(ReduceOp op, const Var& x, Extent over, const Shape& result) {
  Expect("reduce", "x", x.value()).elements();
  const Device d = x.device();
  const Tensor y = empty(result, x.dtype(), d);
  const Tensor index = op == ReduceOp::kMaximum ? empty(result, DType::kI32, d) : Tensor();
  kernels(d).reduce(stream(d), {.op = op,
                                .x = x.value(),
                                .y = y,
                                .index = index,
                                .outer = over.outer,
                                .count = over.count,
                                .inner = over.inner});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).reduce_grad(stream(d), {.op = op,
                                       .dy = dy,
                                       .index = index,
                                       .dx = x.grad(),
                                       .outer = over.outer,
                                       .count = over.count,
                                       .inner = over.inner});
  });
}

Var reduce(ReduceOp op, const Var& x, int axis) {
  const Extent over = extent(x.shape(), axis);
  return reduce(op, x, over, x.shape().without(axis));
}

}  // namespace

Var sum(const Var& x) { return reduce(ReduceOp::kSum, x, {1, x.size(), 1}, {1}); }
Var mean(const Var& x) { return reduce(ReduceOp::kMean, x, {1, x.size(), 1}, {1}); }
Var sum(const Var& x, int axis) { return reduce(ReduceOp::kSum, x, axis); }
Var mean(const Var& x, int axis) { return reduce(ReduceOp::kMean, x, axis); }
Var maximum(const Var& x, int axis) { return reduce(ReduceOp::kMaximum, x, axis); }

Tensor argmax(const Tensor& x, int axis) {
  Expect("argmax", "x", x).elements();
  const Extent over = extent(x.shape(), axis);
  const Device d = x.device();
  const Tensor y = empty(x.shape().without(axis), x.dtype(), d), index = empty(y.shape(), DType::kI32, d);
  kernels(d).reduce(stream(d), {.op = ReduceOp::kMaximum,
                                .x = x,
                                .y = y,
                                .index = index,
                                .outer = over.outer,
                                .count = over.count,
                                .inner = over.inner});
  return index;
}

}  // namespace fovea
