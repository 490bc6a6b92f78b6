// Elementwise work and reductions. The functions and their derivatives are those of kernels/pointwise.h.
#include "kernels/pointwise.h"
#include "kernels/by_parts.h"

#include "kernels/reference/elements.h"
#include "kernels/reference/functions.h"

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
      clear_unless(args.accumulate, {args.dx});
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

void reduce(Stream&, const ReduceArgs& args) {
  const int64_t outer = args.outer, count = args.count, inner = args.inner;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, outer, count, inner);
    const auto y = view<T>(args.y, outer, inner);
    const auto index = view<int32_t>(args.index, outer, inner);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        T sum = 0, largest = -kInfinity<T>;
        int64_t where = -1;
        for (int64_t j = 0; j < count; ++j) {
          sum += x(o, j, i);
          if (where < 0 || x(o, j, i) > largest) {
            largest = x(o, j, i);
            where = j;
          }
        }
        const T before = args.accumulate ? y(o, i) : T(0);
        switch (args.op) {
          case ReduceOp::kSum: y(o, i) = before + sum; break;
          case ReduceOp::kMean: y(o, i) = before + (count > 0 ? sum / static_cast<T>(count) : T(0)); break;
          case ReduceOp::kMaximum: y(o, i) = largest; break;
        }
        if (index) index(o, i) = static_cast<int32_t>(where);
      }
  });
}

void reduce_grad(Stream&, const ReduceGradArgs& args) {
  if (!args.dx) return;
  const int64_t outer = args.outer, count = args.count, inner = args.inner;
  with_type_of(args.dy, [&]<class T>(T) {
    const auto dy = view<T>(args.dy, outer, inner);
    const auto dx = view<T>(args.dx, outer, count, inner);
    const auto index = view<int32_t>(args.index, outer, inner);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < count; ++j)
        for (int64_t i = 0; i < inner; ++i) switch (args.op) {
            case ReduceOp::kSum: dx(o, j, i) += dy(o, i); break;
            case ReduceOp::kMean: dx(o, j, i) += dy(o, i) / static_cast<T>(count); break;
            case ReduceOp::kMaximum: dx(o, j, i) += index(o, i) == j ? dy(o, i) : T(0); break;
          }
  });
}

}  // namespace fovea::reference
