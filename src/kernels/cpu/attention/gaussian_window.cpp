// The Gaussian window of local attention (Luong et al. 2015, equation 10) around a predicted centre.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/gaussian_window.cpp"
#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

class GaussianWindow {
 public:
  GaussianWindow(float sigma, float width) : scale_(-1 / (2 * sigma * sigma)), width_(width) {}

  // Returns the window at a distance of s - center.
  HWY_INLINE Floats operator()(Floats away) const {
    const Floats weight = exp_nonpositive(away * away * Floats(scale_));
    return width_ == 0 ? weight : if_at_least(Floats(width_), abs(away), weight, Floats(0));
  }

 private:
  float scale_, width_;
};

HWY_INLINE Floats distance(int64_t s, Floats center) {
  return Floats(hn::Iota(FloatTag(), static_cast<float>(s))) - center;
}

// Returns the index in center [T,B,H] of row n of [B,H,T,S].
inline int64_t center_of_row(const ScoreShape& shape, int64_t n) {
  const int64_t t = n % shape.queries, head = n / shape.queries;
  return t * shape.batch * shape.heads + head;
}

void gaussian_window(const GaussianWindowArgs& args) {
  const int64_t keys = args.shape.keys, rows = args.shape.batch * args.shape.heads * args.shape.queries;
  const GaussianWindow window(args.sigma, args.width);
  with_type_of(args.x, [&]<class T>(T) {
    each_row(rows, keys, [&](int64_t n) {
      const T* x = args.x.data<T>() + n * keys;
      T* y = args.y.data<T>() + n * keys;
      const Floats center(static_cast<float>(args.center.data<T>()[center_of_row(args.shape, n)]));
      each_register(
          keys, [&](int64_t s, auto lanes) { store(load(x + s, lanes) * window(distance(s, center)), y + s, lanes); });
    });
  });
}

// dx = dy w and dcenter = sum over s of dy x w (s - center) / sigma^2.
void gaussian_window_grad(const GaussianWindowGradArgs& args) {
  const int64_t keys = args.shape.keys, rows = args.shape.batch * args.shape.heads * args.shape.queries;
  const GaussianWindow window(args.sigma, args.width);
  with_type_of(args.x, [&]<class T>(T) {
    T *dx = args.dx.data<T>(), *dcenter = args.dcenter.data<T>();
    each_row(rows, keys, [&](int64_t n) {
      const T *x = args.x.data<T>() + n * keys, *dy = args.dy.data<T>() + n * keys;
      T* dx_row = dx ? dx + n * keys : nullptr;
      const int64_t at = center_of_row(args.shape, n);
      const Floats center(static_cast<float>(args.center.data<T>()[at]));
      const float slope = row_sum(0, keys, [&](int64_t s, auto lanes) {
        const Floats away = distance(s, center);
        const Floats d = load(dy + s, lanes) * window(away);
        if (dx_row) store(load(dx_row + s, lanes) + d, dx_row + s, lanes);
        return d * load(x + s, lanes) * away;
      });
      if (dcenter) dcenter[at] = T(static_cast<float>(dcenter[at]) + slope / (args.sigma * args.sigma));
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(gaussian_window, GaussianWindowArgs)
FOVEA_DISPATCH(gaussian_window_grad, GaussianWindowGradArgs)
}  // namespace fovea::cpu
#endif
