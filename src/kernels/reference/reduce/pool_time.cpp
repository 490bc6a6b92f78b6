// Pooling over the time steps of sequences [T,B,D].
#include <algorithm>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

int64_t steps_of(const Tensor& lengths, int64_t b, int64_t steps) {
  return lengths ? std::clamp<int64_t>(lengths.data<int32_t>()[b], 0, steps) : steps;
}

}  // namespace

void pool_time(Stream&, const PoolTimeArgs& args) {
  const int64_t batch = args.x.dim(1), depth = args.x.dim(2);
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, args.x.dim(0), batch, depth);
    const auto y = view<T>(args.y, batch, depth);
    const auto index = view<int32_t>(args.index, batch, depth);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t d = 0; d < depth; ++d) {
        const int64_t steps = steps_of(args.lengths, b, args.x.dim(0));
        T sum = 0;
        int64_t best = -1;
        for (int64_t t = 0; t < steps; ++t) {
          sum += x(t, b, d);
          if (best < 0 || x(t, b, d) > x(best, b, d)) best = t;
        }
        y(b, d) = best < 0 ? T(0) : args.op == PoolOp::kMaximum ? x(best, b, d) : sum / static_cast<T>(steps);
        if (index) index(b, d) = static_cast<int32_t>(best);
      }
  });
}

void pool_time_grad(Stream&, const PoolTimeGradArgs& args) {
  if (!args.dx) return;
  const int64_t batch = args.dx.dim(1), depth = args.dx.dim(2);
  with_type_of(args.dx, [&]<class T>(T) {
    const auto dx = view<T>(args.dx, args.dx.dim(0), batch, depth);
    const auto dy = view<T>(args.dy, batch, depth);
    const auto index = view<int32_t>(args.index, batch, depth);
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t d = 0; d < depth; ++d) {
        if (args.op == PoolOp::kMaximum) {
          if (index(b, d) >= 0) dx(index(b, d), b, d) += dy(b, d);
          continue;
        }
        const int64_t steps = steps_of(args.lengths, b, args.dx.dim(0));
        for (int64_t t = 0; t < steps; ++t) dx(t, b, d) += dy(b, d) / static_cast<T>(steps);
      }
  });
}

}  // namespace fovea::reference
