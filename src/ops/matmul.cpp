// c = a b for matrices or batches of them.  With both factors as stored: da = dc b^T, db = a^T dc; a
// factor stored transposed gets the transpose of that.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

Matrix factor(const Tensor& x, bool transposed = false) {
  return {.tensor = x, .row_stride = x.dim(-1), .batch_stride = x.dim(-1) * x.dim(-2), .transposed = transposed};
}

}  // namespace

Var matmul(const Var& a, const Var& b, Transposes transposes) {
  Expect("matmul", "a", a.value()).elements().rank(2, 3);
  Expect("matmul", "b", b.value()).like(a.value()).rank(a.rank());
  const auto [ta, tb] = transposes;
  const int64_t m = a.dim(ta ? -1 : -2), k = a.dim(ta ? -2 : -1), n = b.dim(tb ? -2 : -1);
  const int64_t batch = a.rank() == 3 ? a.dim(0) : 1;
  check(b.dim(tb ? -1 : -2) == k && (b.rank() == 2 || b.dim(0) == batch),
        "matmul: expected b to match a {}{}, got {}{}", a.shape(), ta ? " transposed" : "", b.shape(),
        tb ? " transposed" : "");
  const Device d = a.device();
  const Precision precision = product_precision();
  const Tensor c = empty(a.rank() == 3 ? Shape{batch, m, n} : Shape{m, n}, a.dtype(), d);
  kernels(d).matmul(stream(d), {.a = factor(a.value(), ta),
                                .b = factor(b.value(), tb),
                                .c = factor(c),
                                .m = m,
                                .n = n,
                                .k = k,
                                .batch = batch,
                                .precision = precision});
  return Tape::add_node(c, {a, b}, [=, ta = ta, tb = tb](const Tensor& dc) {
    // da is [m,k], or [k,m] when a is stored transposed; db is [k,n], or [n,k].
    if (a.needs_grad()) {
      const auto [da, accumulate] = a.grad_slot();
      MatmulArgs args{.c = factor(da), .batch = batch, .accumulate = accumulate, .precision = precision};
      args.a = ta ? factor(b.value(), tb) : factor(dc);
      args.b = ta ? factor(dc, true) : factor(b.value(), !tb);
      args.m = ta ? k : m;
      args.n = ta ? m : k;
      args.k = n;
      kernels(d).matmul(stream(d), args);
    }
    if (b.needs_grad()) {
      const auto [db, accumulate] = b.grad_slot();
      MatmulArgs args{.c = factor(db), .batch = batch, .accumulate = accumulate, .precision = precision};
      args.a = tb ? factor(dc, true) : factor(a.value(), !ta);
      args.b = tb ? factor(a.value(), ta) : factor(dc);
      args.m = tb ? n : k;
      args.n = tb ? k : n;
      args.k = m;
      kernels(d).matmul(stream(d), args);
    }
  });
}

}  // namespace fovea
