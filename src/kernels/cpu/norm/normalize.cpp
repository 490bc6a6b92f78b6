// Division of rows by their Euclidean norm.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm/normalize.cpp"
#include <cmath>

#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

void normalize(const NormalizeArgs& args) {
  const int64_t rows = args.scale.size(), width = args.x.dim(-1);
  float* scales = args.scale.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    each_row(rows, width, [&](int64_t n) {
      const T* x = args.x.data<T>() + n * width;
      T* y = args.y.data<T>() + n * width;
      const float length = std::sqrt(row_sum(0, width, [&](int64_t i, auto lanes) {
        const Floats v = load(x + i, lanes);
        return v * v;
      }));
      scales[n] = length < args.epsilon ? -1.0f / args.epsilon : 1.0f / length;
      const Floats scale(std::abs(scales[n]));
      each_register(width, [&](int64_t i, auto lanes) { store(load(x + i, lanes) * scale, y + i, lanes); });
    });
  });
}

// dx = scale (dy - y (y . dy)): the component of dy along the row only changes the norm. A row whose norm is below
// epsilon was divided by a constant.
void normalize_grad(const NormalizeGradArgs& args) {
  if (!args.dx) return;
  const int64_t rows = args.scale.size(), width = args.y.dim(-1);
  const float* scales = args.scale.data<float>();
  with_type_of(args.y, [&]<class T>(T) {
    each_row(rows, width, [&](int64_t n) {
      const T *y = args.y.data<T>() + n * width, *dy = args.dy.data<T>() + n * width;
      T* dx = args.dx.data<T>() + n * width;
      const auto product = [&](int64_t i, auto lanes) { return load(y + i, lanes) * load(dy + i, lanes); };
      const Floats dot(scales[n] > 0 ? row_sum(0, width, product) : 0.0f), scale(std::abs(scales[n]));
      each_register(width, [&](int64_t i, auto lanes) {
        const Floats across = load(dy + i, lanes) - load(y + i, lanes) * dot;
        store(mul_add(scale, across, load(dx + i, lanes)), dx + i, lanes);
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(normalize, NormalizeArgs)
FOVEA_DISPATCH(normalize_grad, NormalizeGradArgs)
}  // namespace fovea::cpu
#endif
