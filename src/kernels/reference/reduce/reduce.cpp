// Sums, means and maxima over the middle of [outer, count, inner], and their gradients.
#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

void reduce(Stream&, const ReduceArgs& args) {
  const int64_t outer = args.outer, count = args.count, inner = args.inner;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, outer, count, inner);
    const auto y = view<T>(args.y, outer, inner);
    const auto index = view<int32_t>(args.index, outer, inner);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        T sum = 0, largest = -kInfinity<T>;
        int64_t where = -1;
        for (int64_t j = 0; j < count; ++j) {
          sum += x(o, j, i);
          if (where < 0 || x(o, j, i) > largest) {
            largest = x(o, j, i);
            where = j;
          }
        }
        const T before = args.accumulate ? y(o, i) : T(0);
        switch (args.op) {
          case ReduceOp::kSum: y(o, i) = before + sum; break;
          case ReduceOp::kMean: y(o, i) = before + (count > 0 ? sum / static_cast<T>(count) : T(0)); break;
          case ReduceOp::kMaximum: y(o, i) = largest; break;
        }
        if (index) index(o, i) = static_cast<int32_t>(where);
      }
  });
}

void reduce_grad(Stream&, const ReduceGradArgs& args) {
  if (!args.dx) return;
  const int64_t outer = args.outer, count = args.count, inner = args.inner;
  with_type_of(args.dy, [&]<class T>(T) {
    const auto dy = view<T>(args.dy, outer, inner);
    const auto dx = view<T>(args.dx, outer, count, inner);
    const auto index = view<int32_t>(args.index, outer, inner);
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t j = 0; j < count; ++j)
        for (int64_t i = 0; i < inner; ++i) switch (args.op) {
            case ReduceOp::kSum: dx(o, j, i) += dy(o, i); break;
            case ReduceOp::kMean: dx(o, j, i) += dy(o, i) / static_cast<T>(count); break;
            case ReduceOp::kMaximum: dx(o, j, i) += index(o, i) == j ? dy(o, i) : T(0); break;
          }
  });
}

}  // namespace fovea::reference
