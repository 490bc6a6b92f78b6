// Batch normalisation (Ioffe & Szegedy 2015) of rows [N,C], with SIMD over the channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/norm/batch_norm.cpp"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"
#include "kernels/unfused.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// Updates running = (1 - momentum) running + momentum batch, and stores the statistics.
template <class T> void batch_statistics(const BatchNormArgs& args, int64_t rows, int64_t channels) {
  const T* x = args.x.data<T>();
  float *mean = args.mean.data<float>(), *rstd = args.rstd.data<float>();
  const auto average = [&](float* running, Floats batch, int64_t c, auto lanes) {
    const Floats before = load(running + c, lanes);
    store(mul_add(Floats(args.momentum), batch - before, before), running + c, lanes);
  };
  const Floats count(static_cast<float>(rows)), one_less(static_cast<float>(rows - 1));
  column_sums(
      {1, rows, channels}, [=](int64_t, int64_t n, int64_t c, auto lanes) { return load(x + n * channels + c, lanes); },
      [&](int64_t, int64_t c, Floats sum, auto lanes) {
        store(sum / count, mean + c, lanes);
        average(args.running_mean.data<float>(), sum / count, c, lanes);
      });
  column_sums(
      {1, rows, channels},
      [=](int64_t, int64_t n, int64_t c, auto lanes) {
        const Floats away = load(x + n * channels + c, lanes) - load(mean + c, lanes);
        return away * away;
      },
      [&](int64_t, int64_t c, Floats squares, auto lanes) {
        store(Floats(1) / sqrt(squares / count + Floats(args.epsilon)), rstd + c, lanes);
        average(args.running_variance.data<float>(), squares / one_less, c, lanes);
      });
}

void use_running_averages(const BatchNormArgs& args, int64_t channels) {
  const float *mean = args.running_mean.data<float>(), *variance = args.running_variance.data<float>();
  each_register(channels, [&](int64_t c, auto lanes) {
    store(load(mean + c, lanes), args.mean.data<float>() + c, lanes);
    const Floats rstd = Floats(1) / sqrt(load(variance + c, lanes) + Floats(args.epsilon));
    store(rstd, args.rstd.data<float>() + c, lanes);
  });
}

void batch_norm(const BatchNormArgs& args) {
  const int64_t channels = args.gamma.size(), rows = channels > 0 ? args.x.size() / channels : 0;
  const float *gamma = args.gamma.data<float>(), *beta = args.beta.data<float>();
  const float *mean = args.mean.data<float>(), *rstd = args.rstd.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    args.training ? batch_statistics<T>(args, rows, channels) : use_running_averages(args, channels);
    each_block(rows, channels, [&](int64_t n, int64_t begin, int64_t end) {
      const T* x = args.x.data<T>() + n * channels;
      T* y = args.y.data<T>() + n * channels;
      each_register(begin, end, [&](int64_t c, auto lanes) {
        const Floats z = (load(x + c, lanes) - load(mean + c, lanes)) * load(rstd + c, lanes);
        store(mul_add(z, load(gamma + c, lanes), load(beta + c, lanes)), y + c, lanes);
      });
    });
  });
}

// With the normalised z: dx = gamma rstd (dy - mean(dy) - z mean(dy z)), where the means are 0 outside training.
void batch_norm_grad(const BatchNormGradArgs& args) {
  zero_unless(args.accumulate, {args.dx});
  const int64_t channels = args.gamma.size(), rows = channels > 0 ? args.x.size() / channels : 0;
  const float *gamma = args.gamma.data<float>(), *mean = args.mean.data<float>(), *rstd = args.rstd.data<float>();
  float* mean_dy = workspace<float, struct BatchNormMeans>(static_cast<size_t>(2 * channels));
  float* mean_dyz = mean_dy + channels;
  const Floats scale(args.training && rows > 0 ? 1.0f / static_cast<float>(rows) : 0.0f);
  with_type_of(args.x, [&]<class T>(T) {
    const T *x = args.x.data<T>(), *dy = args.dy.data<T>();
    T* dx = args.dx.data<T>();
    const auto z = [=](int64_t n, int64_t c, auto lanes) {
      return (load(x + n * channels + c, lanes) - load(mean + c, lanes)) * load(rstd + c, lanes);
    };
    // Adds a sum over the rows to the gradient of a parameter, and writes their mean.
    const auto finish = [&](const Tensor& parameter, float* means) {
      return [=, to = parameter.data<float>()](int64_t, int64_t c, Floats sum, auto lanes) {
        store(sum * scale, means + c, lanes);
        if (to) store(load(to + c, lanes) + sum, to + c, lanes);
      };
    };
    column_sums(
        {1, rows, channels},
        [=](int64_t, int64_t n, int64_t c, auto lanes) { return load(dy + n * channels + c, lanes); },
        finish(args.dbeta, mean_dy));
    column_sums(
        {1, rows, channels},
        [=](int64_t, int64_t n, int64_t c, auto lanes) { return load(dy + n * channels + c, lanes) * z(n, c, lanes); },
        finish(args.dgamma, mean_dyz));
    if (!dx) return;
    each_block(rows, channels, [&](int64_t n, int64_t begin, int64_t end) {
      each_register(begin, end, [&](int64_t c, auto lanes) {
        const int64_t at = n * channels + c;
        const Floats centred =
            load(dy + at, lanes) - load(mean_dy + c, lanes) - z(n, c, lanes) * load(mean_dyz + c, lanes);
        const Floats factor = load(gamma + c, lanes) * load(rstd + c, lanes);
        store(mul_add(factor, centred, load(dx + at, lanes)), dx + at, lanes);
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(batch_norm, BatchNormArgs)
FOVEA_DISPATCH(batch_norm_grad, BatchNormGradArgs)
}  // namespace fovea::cpu
#endif
