// y = f(x), with f defined in kernels/pointwise.h. Backward reads x or y, whichever the derivative is expressed in.
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
  const Tensor saved = reads_input ? x.value() : y;
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.grad_slot();
    kernels(d).unary_grad(stream(d), {.op = op,
                                      .x = reads_input ? saved : Tensor(),
                                      .y = reads_input ? Tensor() : saved,
                                      .dy = dy,
                                      .dx = dx,
                                      .accumulate = accumulate});
  });
}

}  // namespace fovea
