// Elementwise functions of one tensor. kernels/pointwise.h defines them and their derivatives.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise/unary.cpp"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

namespace pointwise {
#include "kernels/pointwise_functions.h"
}  // namespace pointwise

void unary(const UnaryArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const T* x = args.x.data<T>();
    T* y = args.y.data<T>();
    pointwise::visit(args.op, [&](auto f) {
      each_block(1, args.x.size(), [&](int64_t, int64_t begin, int64_t end) {
        each_register(begin, end, [&](int64_t i, auto lanes) { store(f.forward(load(x + i, lanes)), y + i, lanes); });
      });
    });
  });
}

void unary_grad(const UnaryGradArgs& args) {
  if (!args.dx) return;
  with_type_of(args.dy, [&]<class T>(T) {
    const T* dy = args.dy.data<T>();
    T* dx = args.dx.data<T>();
    pointwise::visit(args.op, [&](auto f) {
      const T* z = (f.kReadsInput ? args.x : args.y).template data<T>();
      each_block(1, args.dx.size(), [&](int64_t, int64_t begin, int64_t end) {
        each_register(begin, end, [&](int64_t i, auto lanes) {
          const Floats d = f.grad(load(z + i, lanes), load(dy + i, lanes));
          store(args.accumulate ? load(dx + i, lanes) + d : d, dx + i, lanes);
        });
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(unary, UnaryArgs)
FOVEA_DISPATCH(unary_grad, UnaryGradArgs)
}  // namespace fovea::cpu
#endif
