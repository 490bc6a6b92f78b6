// y = f(a, b) with b spread over a; f and its derivatives from kernels/pointwise.h.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

struct Spread {
  int64_t outer = 1, inner = 1;
};

// a as [outer, b.size, inner]. b's axes, without leading and trailing ones, must be a run of a's.
Spread spread(const Shape& a, const Shape& b) {
  int first = 0, last = b.rank();
  while (first < last && b[first] == 1) ++first;
  while (last > first && b[last - 1] == 1) --last;
  if (first == last) return {.outer = a.count(), .inner = 1};
  // A b written with all of a's axes says where the run lies; a shorter one is matched from the end.
  const int run = last - first;
  const int at = b.rank() == a.rank() ? first : a.rank() - (b.rank() - first);
  bool fits = at >= 0 && at + run <= a.rank();
  for (int i = 0; fits && i < run; ++i) fits = a[at + i] == b[first + i];
  check(fits, "binary: expected b to broadcast to {}, got {}", a, b);
  return {.outer = a.count(0, at), .inner = a.count(at + run, a.rank())};
}

// dx += dy; the last to read dy may have its memory.
void pass_on(const Tensor& dy, const Var& x, bool last) {
  if (!x.needs_grad() || (last && Tape::current()->move_gradient_to(x))) return;
  const auto [dx, accumulate] = x.grad_slot();
  kernels(dx.device()).affine(stream(dx.device()), {.x = dy.reshape(dx.shape()), .y = dx, .accumulate = accumulate});
}

}  // namespace

Var binary(BinaryOp op, const Var& a, const Var& b) {
  Expect("binary", "a", a.value()).elements();
  Expect("binary", "b", b.value()).like(a.value());
  const auto [outer, inner] = spread(a.shape(), b.shape());
  const Device d = a.device();
  const Tensor y = empty_like(a.value());
  kernels(d).binary(stream(d), {.op = op, .a = a.value(), .b = b.value(), .y = y, .outer = outer, .inner = inner});
  return Tape::add_node(y, {a, b}, [=, outer = outer, inner = inner](const Tensor& dy) {
    if (op == BinaryOp::kAdd && a.size() == b.size()) {
      pass_on(dy, b, !a.needs_grad());
      return pass_on(dy, a, true);
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
