// y = f(x), f from kernels/pointwise.h. Backward keeps x or y, whichever the derivative is written in.
#include "kernels/pointwise.h"
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var unary(UnaryOp op, const Var& x) {
  Expect("unary", "x", x.value()).elements();
  const Device d = x.device();
  const Tensor y = empty_like(x.value());
  kernels(d).unary(stream(d), {.op = op, .x = x.value(), .y = y});
  const bool reads_input = pointwise::unary_reads_input(op);
  const Tensor kept = reads_input ? x.value() : y;
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.grad_slot();
    kernels(d).unary_grad(stream(d), {.op = op,
                                      .x = reads_input ? kept : Tensor(),
                                      .y = reads_input ? Tensor() : kept,
                                      .dy = dy,
                                      .dx = dx,
                                      .accumulate = accumulate});
  });
}

}  // namespace fovea
