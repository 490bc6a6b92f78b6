// Layer norm (Ba, Kiros & Hinton 2016).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm/layer_norm.cpp"
#include <cmath>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"
#include "kernels/unfused.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

void layer_norm(const LayerNormArgs& given) {
  const LayerNormArgs args = add_residual(cpu_kernels(), stream(Device::cpu()), given);
  const int64_t rows = args.mean.size(), width = args.gamma.size();
  const float *gamma = args.gamma.data<float>(), *beta = args.beta.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    each_row(rows, width, [&](int64_t n) {
      const T* x = args.x.data<T>() + n * width;
      T* y = args.y.data<T>() + n * width;
      const float count = static_cast<float>(width);
      const float mean = row_sum(0, width, [&](int64_t i, auto lanes) { return load(x + i, lanes); }) / count;
      const Floats middle(mean);
      const float squares = row_sum(0, width, [&](int64_t i, auto lanes) {
        const Floats away = load(x + i, lanes) - middle;
        return away * away;
      });
      const float rstd = 1.0f / std::sqrt(squares / count + args.epsilon);
      args.mean.data<float>()[n] = mean;
      args.rstd.data<float>()[n] = rstd;
      each_register(width, [&](int64_t i, auto lanes) {
        const Floats z = (load(x + i, lanes) - middle) * Floats(rstd);
        store(mul_add(z, load(gamma + i, lanes), load(beta + i, lanes)), y + i, lanes);
      });
    });
  });
}

// One row of the gradient. With the normalised row z and g = dy gamma: dx = rstd (g - mean(g) - z mean(g z)), dgamma =
// sum of dy z and dbeta = sum of dy over the rows.
template <class T> struct LayerNormRow {
  int64_t width;
  const T *x, *dy;
  const float* gamma;
  float mean, rstd;
  T* dx;                  // may be null
  float *dgamma, *dbeta;  // sums of a chunk of rows

  template <class Lanes> HWY_INLINE Floats z(int64_t i, Lanes lanes) const {
    return (load(x + i, lanes) - Floats(mean)) * Floats(rstd);
  }
  void operator()() const {
    Floats sum_g(0), sum_gz(0);
    each_register(width, [&](int64_t i, auto lanes) {
      const Floats g = load(dy + i, lanes) * load(gamma + i, lanes);
      sum_g += g;  // g is 0 past the end of the row
      sum_gz = mul_add(g, z(i, lanes), sum_gz);
    });
    const float count = static_cast<float>(width);
    const Floats mean_g(sum(sum_g) / count), mean_gz(sum(sum_gz) / count), scale(rstd);
    each_register(width, [&](int64_t i, auto lanes) {
      const Floats d = load(dy + i, lanes), normal = z(i, lanes);
      store(mul_add(d, normal, load(dgamma + i, lanes)), dgamma + i, lanes);
      store(load(dbeta + i, lanes) + d, dbeta + i, lanes);
      if (!dx) return;
      const Floats g = d * load(gamma + i, lanes);
      store(mul_add(scale, g - mean_g - normal * mean_gz, load(dx + i, lanes)), dx + i, lanes);
    });
  }
};

void layer_norm_grad(const LayerNormGradArgs& args) {
  zero_unless(args.accumulate, {args.dx});
  const int64_t rows = args.mean.size(), width = args.gamma.size();
  const int64_t per_chunk = std::max<int64_t>(16, divide_up(rows, 64)), chunks = divide_up(rows, per_chunk);
  float* pieces = workspace<float, struct PiecesOfNorm>(static_cast<size_t>(chunks * 2 * width));
  const float *mean = args.mean.data<float>(), *rstd = args.rstd.data<float>(), *gamma = args.gamma.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    const T *x = args.x.data<T>(), *dy = args.dy.data<T>();
    T* dx = args.dx.data<T>();
    each_row(chunks, per_chunk * width, [&](int64_t chunk) {
      float *dgamma = pieces + chunk * 2 * width, *dbeta = dgamma + width;
      std::fill(dgamma, dgamma + 2 * width, 0.0f);
      for (int64_t n = chunk * per_chunk; n < std::min(rows, (chunk + 1) * per_chunk); ++n) {
        const int64_t at = n * width;
        LayerNormRow<T>{width, x + at, dy + at, gamma, mean[n], rstd[n], dx ? dx + at : nullptr, dgamma, dbeta}();
      }
    });
  });
  const auto add_pieces = [&](const Tensor& to, int64_t first) {
    if (!to) return;
    float* y = to.data<float>();
    each_block(1, width, [&](int64_t, int64_t begin, int64_t end) {
      each_register(begin, end, [&](int64_t i, auto lanes) {
        Floats total(0);
        for (int64_t c = 0; c < chunks; ++c) total += load(pieces + c * 2 * width + first + i, lanes);
        store(load(y + i, lanes) + total, y + i, lanes);
      });
    });
  };
  add_pieces(args.dgamma, 0);
  add_pieces(args.dbeta, width);
  residual_grad(cpu_kernels(), stream(Device::cpu()), args);
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(layer_norm, LayerNormArgs)
FOVEA_DISPATCH(layer_norm_grad, LayerNormGradArgs)
}  // namespace fovea::cpu
#endif
