// Division of rows by their Euclidean norm.
#include <algorithm>
#include <cmath>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

void normalize(Stream&, const NormalizeArgs& args) {
  const int64_t rows = args.scale.size(), width = args.x.dim(-1);
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, rows, width), y = view<T>(args.y, rows, width);
    const auto scale = view<T>(args.scale, rows);
    const T epsilon = static_cast<T>(args.epsilon);
    for (int64_t n = 0; n < rows; ++n) {
      T squares = 0;
      for (int64_t i = 0; i < width; ++i) squares += x(n, i) * x(n, i);
      const T length = std::sqrt(squares);
      scale(n) = length < epsilon ? -1 / epsilon : 1 / length;
      for (int64_t i = 0; i < width; ++i) y(n, i) = x(n, i) * std::abs(scale(n));
    }
  });
}

// dx = scale (dy - y (y . dy)): the component of dy along the row only changes the norm. A row whose norm is below
// epsilon was divided by a constant, so that its gradient is |scale| dy.
void normalize_grad(Stream&, const NormalizeGradArgs& args) {
  if (!args.dx) return;
  const int64_t rows = args.scale.size(), width = args.y.dim(-1);
  with_type_of(args.y, [&]<class T>(T) {
    const auto y = view<T>(args.y, rows, width);
    const auto dy = view<T>(args.dy, rows, width), dx = view<T>(args.dx, rows, width);
    const auto scale = view<T>(args.scale, rows);
    for (int64_t n = 0; n < rows; ++n) {
      T along = 0;
      for (int64_t i = 0; scale(n) > 0 && i < width; ++i) along += y(n, i) * dy(n, i);
      for (int64_t i = 0; i < width; ++i) dx(n, i) += std::abs(scale(n)) * (dy(n, i) - y(n, i) * along);
    }
  });
}

}  // namespace fovea::reference
