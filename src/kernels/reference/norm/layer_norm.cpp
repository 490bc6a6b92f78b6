// Layer norm (Ba, Kiros & Hinton 2016).
#include <algorithm>
#include <cmath>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"
#include "kernels/reference/reference.h"
#include "kernels/unfused.h"

namespace fovea::reference {

void layer_norm(Stream& stream, const LayerNormArgs& given) {
  const LayerNormArgs args = add_residual(reference_kernels(), stream, given);
  const int64_t rows = args.mean.size(), width = args.gamma.size();
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, rows, width), y = view<T>(args.y, rows, width);
    const auto gamma = view<T>(args.gamma, width), beta = view<T>(args.beta, width);
    const auto mean = view<T>(args.mean, rows), rstd = view<T>(args.rstd, rows);
    for (int64_t n = 0; n < rows; ++n) {
      T sum = 0, squares = 0;
      for (int64_t i = 0; i < width; ++i) sum += x(n, i);
      mean(n) = sum / static_cast<T>(width);
      for (int64_t i = 0; i < width; ++i) squares += (x(n, i) - mean(n)) * (x(n, i) - mean(n));
      rstd(n) = 1 / std::sqrt(squares / static_cast<T>(width) + static_cast<T>(args.epsilon));
      for (int64_t i = 0; i < width; ++i) y(n, i) = (x(n, i) - mean(n)) * rstd(n) * gamma(i) + beta(i);
    }
  });
}

// With the normalised row z and g = dy gamma: dx = rstd (g - mean(g) - z mean(g z)).
void layer_norm_grad(Stream& stream, const LayerNormGradArgs& args) {
  zero_unless(args.accumulate, {args.dx});
  const int64_t rows = args.mean.size(), width = args.gamma.size();
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, rows, width);
    const auto dy = view<T>(args.dy, rows, width), dx = view<T>(args.dx, rows, width);
    const auto gamma = view<T>(args.gamma, width);
    const auto dgamma = view<T>(args.dgamma, width), dbeta = view<T>(args.dbeta, width);
    const auto mean = view<T>(args.mean, rows), rstd = view<T>(args.rstd, rows);
    for (int64_t n = 0; n < rows; ++n) {
      const auto z = [&](int64_t i) { return (x(n, i) - mean(n)) * rstd(n); };
      T mean_g = 0, mean_gz = 0;
      for (int64_t i = 0; i < width; ++i) {
        mean_g += dy(n, i) * gamma(i) / static_cast<T>(width);
        mean_gz += dy(n, i) * gamma(i) * z(i) / static_cast<T>(width);
      }
      for (int64_t i = 0; i < width; ++i) {
        if (dx) dx(n, i) += rstd(n) * (dy(n, i) * gamma(i) - mean_g - z(i) * mean_gz);
        if (dgamma) dgamma(i) += dy(n, i) * z(i);
        if (dbeta) dbeta(i) += dy(n, i);
      }
    }
  });
  residual_grad(reference_kernels(), stream, args);
}

}  // namespace fovea::reference
