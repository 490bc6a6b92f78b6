// y = alpha x + beta, and casts between element types (alpha 1). dx += alpha dy.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

Var affine_to(DType dtype, const Var& x, float alpha, float beta) {
  const Device d = x.device();
  const Tensor y = empty(x.shape(), dtype, d);
  kernels(d).affine(stream(d), {.x = x.value(), .y = y, .alpha = alpha, .beta = beta});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.grad_slot();
    kernels(d).affine(stream(d), {.x = dy, .y = dx, .alpha = alpha, .accumulate = accumulate});
  });
}

}  // namespace

Var affine(const Var& x, float alpha, float beta) {
  Expect("affine", "x", x.value()).elements();
  return affine_to(x.dtype(), x, alpha, beta);
}

Var cast(const Var& x, DType dtype) {
  Expect("cast", "x", x.value());
  if (x.dtype() == dtype) return x;
  check(!x.needs_grad() || dtype != DType::kI32, "cast: expected an element type for a value with a gradient, got {}",
        dtype);
  return affine_to(dtype, x, 1.0f, 0.0f);
}

}  // namespace fovea
