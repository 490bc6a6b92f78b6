// y = f(a, b) with b broadcast to a; kernels/pointwise.h defines f and its derivatives.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

struct Broadcast {
  int64_t outer = 1, inner = 1;
};

// Views a as [outer, b.size, inner]. The axes of b, without leading and trailing ones, must be consecutive axes of a.
Broadcast broadcast(const Shape& a, const Shape& b) {
  int first = 0, last = b.rank();
  while (first < last && b[first] == 1) ++first;
  while (last > first && b[last - 1] == 1) --last;
  if (first == last) return {.outer = a.count(), .inner = 1};
  // If b has as many axes as a, its leading ones say where the run starts; a shorter b is aligned to the last axis.
  const int run = last - first;
  const int at = b.rank() == a.rank() ? first : a.rank() - (b.rank() - first);
  bool fits = at >= 0 && at + run <= a.rank();
  for (int i = 0; fits && i < run; ++i) fits = a[at + i] == b[first + i];
  check(fits, "binary: expected b to broadcast to {}, got {}", a, b);
  return {.outer = a.count(0, at), .inner = a.count(at + run, a.rank())};
}

// dx += dy. The last reader of dy moves its storage to dx instead of copying it.
void pass_gradient(const Tensor& dy, const Var& x, bool last) {
  if (!x.needs_grad() || (last && Tape::current()->move_gradient_to(x))) return;
  const auto [dx, accumulate] = x.grad_slot();
  kernels(dx.device()).affine(stream(dx.device()), {.x = dy.reshape(dx.shape()), .y = dx, .accumulate = accumulate});
}

}  // namespace

Var binary(BinaryOp op, const Var& a, const Var& b) {
  Expect("binary", "a", a.value()).elements();
  Expect("binary", "b", b.value()).like(a.value());
  const auto [outer, inner] = broadcast(a.shape(), b.shape());
  const Device d = a.device();
  const Tensor y = empty_like(a.value());
  kernels(d).binary(stream(d), {.op = op, .a = a.value(), .b = b.value(), .y = y, .outer = outer, .inner = inner});
  return Tape::add_node(y, {a, b}, [=, outer = outer, inner = inner](const Tensor& dy) {
    if (op == BinaryOp::kAdd && a.size() == b.size()) {
      pass_gradient(dy, b, !a.needs_grad());
      return pass_gradient(dy, a, true);
    }
    kernels(d).binary_grad(stream(d), {.op = op,
                                       .a = a.value(),
                                       .b = b.value(),
                                       .dy = dy,
                                       .da = a.grad(),
                                       .db = b.grad(),
                                       .outer = outer,
                                       .inner = inner});
  });
}

}  // namespace fovea
