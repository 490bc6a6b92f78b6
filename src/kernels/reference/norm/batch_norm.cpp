// Batch normalisation (Ioffe & Szegedy 2015) of rows [N,C].
#include <cmath>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"
#include "kernels/unfused.h"

namespace fovea::reference {

void batch_norm(Stream&, const BatchNormArgs& args) {
  const int64_t channels = args.gamma.size(), rows = channels > 0 ? args.x.size() / channels : 0;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, rows, channels), y = view<T>(args.y, rows, channels);
    const auto gamma = view<T>(args.gamma, channels), beta = view<T>(args.beta, channels);
    const auto mean = view<T>(args.mean, channels), rstd = view<T>(args.rstd, channels);
    const auto running_mean = view<T>(args.running_mean, channels);
    const auto running_variance = view<T>(args.running_variance, channels);
    const T count = static_cast<T>(rows), momentum = static_cast<T>(args.momentum);
    for (int64_t c = 0; c < channels; ++c) {
      T variance = running_variance(c);
      mean(c) = running_mean(c);
      if (args.training) {
        T sum = 0, squares = 0;
        for (int64_t n = 0; n < rows; ++n) sum += x(n, c);
        mean(c) = sum / count;
        for (int64_t n = 0; n < rows; ++n) squares += (x(n, c) - mean(c)) * (x(n, c) - mean(c));
        variance = squares / count;
        running_mean(c) += momentum * (mean(c) - running_mean(c));
        running_variance(c) += momentum * (squares / (count - 1) - running_variance(c));
      }
      rstd(c) = 1 / std::sqrt(variance + static_cast<T>(args.epsilon));
      for (int64_t n = 0; n < rows; ++n) y(n, c) = (x(n, c) - mean(c)) * rstd(c) * gamma(c) + beta(c);
    }
  });
}

// With the normalised z: dx = gamma rstd (dy - mean(dy) - z mean(dy z)), where the means are 0 outside training.
void batch_norm_grad(Stream&, const BatchNormGradArgs& args) {
  zero_unless(args.accumulate, {args.dx});
  const int64_t channels = args.gamma.size(), rows = channels > 0 ? args.x.size() / channels : 0;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, rows, channels);
    const auto dy = view<T>(args.dy, rows, channels), dx = view<T>(args.dx, rows, channels);
    const auto gamma = view<T>(args.gamma, channels), mean = view<T>(args.mean, channels);
    const auto rstd = view<T>(args.rstd, channels);
    const auto dgamma = view<T>(args.dgamma, channels), dbeta = view<T>(args.dbeta, channels);
    for (int64_t c = 0; c < channels; ++c) {
      const auto z = [&](int64_t n) { return (x(n, c) - mean(c)) * rstd(c); };
      T sum_dy = 0, sum_dyz = 0;
      for (int64_t n = 0; n < rows; ++n) {
        sum_dy += dy(n, c);
        sum_dyz += dy(n, c) * z(n);
      }
      if (dgamma) dgamma(c) += sum_dyz;
      if (dbeta) dbeta(c) += sum_dy;
      const T count = static_cast<T>(rows);
      const T mean_dy = args.training ? sum_dy / count : T(0), mean_dyz = args.training ? sum_dyz / count : T(0);
      for (int64_t n = 0; dx && n < rows; ++n) dx(n, c) += gamma(c) * rstd(c) * (dy(n, c) - mean_dy - z(n) * mean_dyz);
    }
  });
}

}  // namespace fovea::reference
