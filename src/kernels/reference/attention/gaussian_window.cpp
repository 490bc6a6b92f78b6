// Luong's Gaussian window (2015, equation 10).
#include <cmath>

#include "kernels/reference/attention/score_views.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Returns exp(-(s - center)^2 / (2 sigma^2)), 0 outside the width.
template <class T, class Args> T window_at(const Args& args, T distance) {
  const T sigma = static_cast<T>(args.sigma), width = static_cast<T>(args.width);
  if (width > 0 && std::abs(distance) > width) return 0;
  return std::exp(-distance * distance / (2 * sigma * sigma));
}

}  // namespace

void gaussian_window(Stream&, const GaussianWindowArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = cells_of<T>(args.x, shape), y = cells_of<T>(args.y, shape);
    const auto center = view<T>(args.center, shape.queries, shape.batch, shape.heads);
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      for (int64_t s = 0; s < shape.keys; ++s)
        y(b, h, t, s) = x(b, h, t, s) * window_at(args, static_cast<T>(s) - center(t, b, h));
    });
  });
}

// dx = dy window, and dcenter = dy x window (s - center) / sigma^2.
void gaussian_window_grad(Stream&, const GaussianWindowGradArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = cells_of<T>(args.x, shape);
    const auto dy = cells_of<T>(args.dy, shape), dx = cells_of<T>(args.dx, shape);
    const auto center = view<T>(args.center, shape.queries, shape.batch, shape.heads);
    const auto dcenter = view<T>(args.dcenter, shape.queries, shape.batch, shape.heads);
    const T sigma = static_cast<T>(args.sigma);
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      for (int64_t s = 0; s < shape.keys; ++s) {
        const T distance = static_cast<T>(s) - center(t, b, h), window = window_at(args, distance);
        if (dx) dx(b, h, t, s) += dy(b, h, t, s) * window;
        if (dcenter) dcenter(t, b, h) += dy(b, h, t, s) * x(b, h, t, s) * window * distance / (sigma * sigma);
      }
    });
  });
}

}  // namespace fovea::reference
