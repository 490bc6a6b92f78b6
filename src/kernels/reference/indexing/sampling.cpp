// Sampling of an index of each row, and the k largest elements of each row.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"
#include "kernels/sample_index.h"

namespace fovea::reference {

void sample(Stream&, const SampleArgs& args) {
  const int64_t width = args.weights.dim(-1), rows = width == 0 ? 0 : args.weights.size() / width;
  with_type_of(args.weights, [&]<class T>(T) {
    const auto weights = view<T>(args.weights, rows, width), chosen = view<T>(args.one_hot, rows, width);
    for (int64_t n = 0; n < rows; ++n) {
      const int64_t pick = sample_index(&weights(n, 0), width, args.random, n);
      for (int64_t s = 0; s < width; ++s) chosen(n, s) = s == pick ? T(1) : T(0);
    }
  });
}

void top_k(Stream&, const TopKArgs& args) {
  const int64_t width = args.x.dim(-1), rows = width == 0 ? args.index.size() / args.k : args.x.size() / width;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view<T>(args.x, rows, width), values = view<T>(args.values, rows, args.k);
    const auto index = view<int32_t>(args.index, rows, args.k);
    for (int64_t n = 0; n < rows; ++n) {
      std::vector<int32_t> order;
      for (int64_t i = 0; i < width; ++i) {
        if (!std::isnan(x(n, i))) order.push_back(static_cast<int32_t>(i));
      }
      std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return x(n, a) > x(n, b); });
      for (int64_t k = 0; k < args.k; ++k) {
        const bool there = k < static_cast<int64_t>(order.size());
        index(n, k) = there ? order[static_cast<size_t>(k)] : -1;
        values(n, k) = there ? x(n, order[static_cast<size_t>(k)]) : -kInfinity<T>;
      }
    }
  });
}

}  // namespace fovea::reference
