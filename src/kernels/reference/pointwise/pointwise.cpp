// Elementwise kernels. kernels/pointwise.h defines the functions and their derivatives.
#include "kernels/pointwise.h"

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"
#include "kernels/unfused.h"

namespace fovea::reference {

namespace {

template <class A> void affine_in(const AffineArgs& args) {
  for (int64_t i = 0; i < args.y.size(); ++i) {
    A y = static_cast<A>(args.beta);
    if (args.x) y += static_cast<A>(args.alpha) * static_cast<A>(load(args.x, i));
    if (args.accumulate) y += static_cast<A>(load(args.y, i));
    store(args.y, i, y);
  }
}

}  // namespace

void affine(Stream&, const AffineArgs& args) {
  const bool wide = args.y.dtype() == DType::kF64 || (args.x && args.x.dtype() == DType::kF64);
  wide ? affine_in<double>(args) : affine_in<float>(args);
}

void unary(Stream&, const UnaryArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const T* x = args.x.data<T>();
    T* y = args.y.data<T>();
    pointwise::visit(args.op, [&](auto f) {
      for (int64_t i = 0; i < args.x.size(); ++i) y[i] = f.forward(x[i]);
    });
  });
}

void unary_grad(Stream&, const UnaryGradArgs& args) {
  if (!args.dx) return;
  with_type_of(args.dy, [&]<class T>(T) {
    pointwise::visit(args.op, [&](auto f) {
      const T* z = (f.kReadsInput ? args.x : args.y).template data<T>();
      const T* dy = args.dy.data<T>();
      T* dx = args.dx.data<T>();
      zero_unless(args.accumulate, {args.dx});
      for (int64_t i = 0; i < args.dx.size(); ++i) dx[i] += f.grad(z[i], dy[i]);
    });
  });
}

void binary(Stream&, const BinaryArgs& args) {
  const int64_t outer = args.outer, middle = args.b.size(), inner = args.inner;
  with_type_of(args.a, [&]<class T>(T) {
    const auto a = view<T>(args.a, outer, middle, inner), y = view<T>(args.y, outer, middle, inner);
    const auto b = view<T>(args.b, middle);
    pointwise::visit(args.op, [&](auto f) {
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t j = 0; j < middle; ++j)
          for (int64_t i = 0; i < inner; ++i) y(o, j, i) = f.forward(a(o, j, i), b(j));
    });
  });
}

void binary_grad(Stream&, const BinaryGradArgs& args) {
  const int64_t outer = args.outer, middle = args.b.size(), inner = args.inner;
  with_type_of(args.a, [&]<class T>(T) {
    const auto a = view<T>(args.a, outer, middle, inner), dy = view<T>(args.dy, outer, middle, inner);
    const auto da = view<T>(args.da, outer, middle, inner);
    const auto b = view<T>(args.b, middle), db = view<T>(args.db, middle);
    pointwise::visit(args.op, [&](auto f) {
      for (int64_t o = 0; o < outer; ++o)
        for (int64_t j = 0; j < middle; ++j)
          for (int64_t i = 0; i < inner; ++i) {
            if (da) da(o, j, i) += f.grad_a(a(o, j, i), b(j), dy(o, j, i));
            if (db) db(j) += f.grad_b(a(o, j, i), b(j), dy(o, j, i));
          }
    });
  });
}

}  // namespace fovea::reference
