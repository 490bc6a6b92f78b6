// Sequences [T,B,D] to one vector a sentence: the mean or the maximum over time, or a sum weighted by attention.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var pool_time(PoolOp op, const Var& x, const Tensor& lengths) {
  Expect("pool_time", "x", x.value()).elements().rank(3);
  expect_lengths("pool_time", lengths, x.dim(1), x.device());
  const Device d = x.device();
  const Tensor y = empty({x.dim(1), x.dim(2)}, x.dtype(), d);
  const Tensor index = op == PoolOp::kMaximum ? empty(y.shape(), DType::kI32, d) : Tensor();
  kernels(d).pool_time(stream(d), {.op = op, .x = x.value(), .lengths = lengths, .y = y, .index = index});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).pool_time_grad(stream(d), {.op = op, .dy = dy, .lengths = lengths, .index = index, .dx = x.grad()});
  });
}

Attended attention_pool(const Var& scores, const Var& x, const Tensor& lengths) {
  Expect("attention_pool", "x", x.value()).elements().rank(3);
  Expect("attention_pool", "scores", scores.value()).like(x.value()).rank(3);
  const int64_t steps = x.dim(0), batch = x.dim(1), heads = scores.dim(2);
  Expect("attention_pool", "scores", scores.value()).shape({steps, batch, heads});
  expect_heads("attention_pool", heads, x.dim(2));
  const Var weights = softmax(permute(scores, {1, 2, 0}).reshape({batch, heads, 1, steps}), {.lengths = lengths});
  return {weighted_sum(weights, x)[0], weights.value()};
}

}  // namespace fovea
