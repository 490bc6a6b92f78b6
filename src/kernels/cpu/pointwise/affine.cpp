// y (+)= alpha x + beta between any two dtypes. f32 and bf16 use SIMD; i32 and f64, which small tensors have (ids,
// statistics), are processed one element at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise/affine.cpp"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

template <class Y> void fill(const AffineArgs& args) {
  Y* y = args.y.data<Y>();
  const Floats beta(args.beta);
  each_block(1, args.y.size(), [&](int64_t, int64_t begin, int64_t end) {
    each_register(begin, end, [&](int64_t i, auto lanes) {
      store(args.accumulate ? load(y + i, lanes) + beta : beta, y + i, lanes);
    });
  });
}

template <class X, class Y> void scale(const AffineArgs& args) {
  const X* x = args.x.data<X>();
  Y* y = args.y.data<Y>();
  const Floats alpha(args.alpha), beta(args.beta);
  each_block(1, args.y.size(), [&](int64_t, int64_t begin, int64_t end) {
    each_register(begin, end, [&](int64_t i, auto lanes) {
      const Floats value = mul_add(load(x + i, lanes), alpha, beta);
      store(args.accumulate ? load(y + i, lanes) + value : value, y + i, lanes);
    });
  });
}

void affine_floats(const AffineArgs& args) {
  with_type_of(args.y, [&]<class Y>(Y) {
    if (!args.x) return fill<Y>(args);
    with_type_of(args.x, [&]<class X>(X) { scale<X, Y>(args); });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(affine_floats);

namespace {

template <class Body> void with_any_type_of(const Tensor& x, Body&& body) {
  if (x.dtype() == DType::kF64) return body(double{});
  if (x.dtype() == DType::kI32) return body(int32_t{});
  with_type_of(x, body);
}
template <class A, class T> A read(const T* p) { return static_cast<A>(*p); }
template <class A> A read(const bf16* p) { return static_cast<A>(static_cast<float>(*p)); }
template <class A, class T> void write(T* p, A value) { *p = static_cast<T>(value); }
template <class A> void write(bf16* p, A value) { *p = bf16(static_cast<float>(value)); }

// Computes in A, one element at a time.
template <class A> void affine_scalars(const AffineArgs& args) {
  with_any_type_of(args.y, [&]<class Y>(Y) {
    with_any_type_of(args.x ? args.x : args.y, [&]<class X>(X) {
      const X* x = args.x ? args.x.data<X>() : nullptr;
      Y* y = args.y.data<Y>();
      each_block(1, args.y.size(), [&](int64_t, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          A value = static_cast<A>(args.beta);
          if (x) value += static_cast<A>(args.alpha) * read<A>(x + i);
          if (args.accumulate) value += read<A>(y + i);
          write(y + i, value);
        }
      });
    });
  });
}

bool on_registers(const Tensor& x) { return !x || x.dtype() == DType::kF32 || x.dtype() == DType::kBF16; }

}  // namespace

void affine(Stream&, const AffineArgs& args) {
  if (on_registers(args.x) && on_registers(args.y)) return HWY_DYNAMIC_DISPATCH(affine_floats)(args);
  const bool wide = args.y.dtype() == DType::kF64 || (args.x && args.x.dtype() == DType::kF64);
  wide ? affine_scalars<double>(args) : affine_scalars<float>(args);
}

}  // namespace fovea::cpu
#endif
