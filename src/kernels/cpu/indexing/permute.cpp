// Permutation of axes: rows are copied where they stay contiguous, else matrices are transposed tile by tile.
#include <cstring>

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/functions.h"
#include "kernels/permuted_axes.h"

namespace fovea::cpu {

namespace {

template <class T, bool kAccumulate> void put(T& y, T x) {
  y = kAccumulate ? T(static_cast<float>(y) + static_cast<float>(x)) : x;
}

template <class T, bool kAccumulate> void permute_rows(const PermuteArgs& args, const PermutedAxes& axes) {
  const int64_t width = axes.sizes[axes.last()], rows = width > 0 ? args.x.size() / width : 0;
  each_block(rows, width, [&](int64_t row, int64_t begin, int64_t end) {
    const auto at = axes.offsets(row, axes.last());
    const T* x = args.x.data<T>() + at.x;
    T* y = args.y.data<T>() + at.y;
    if (!kAccumulate) {
      std::memcpy(y + begin, x + begin, static_cast<size_t>(end - begin) * sizeof(T));
      return;
    }
    for (int64_t i = begin; i < end; ++i) put<T, kAccumulate>(y[i], x[i]);
  });
}

// With i along the axis that is contiguous in x, and j along the one that is contiguous in y: y[i,j] = x[j,i].
template <class T, bool kAccumulate> void transpose(const PermuteArgs& args, const PermutedAxes& axes) {
  constexpr int64_t kTile = 16;
  const int contiguous = axes.contiguous(), last = axes.last();
  const int64_t height = axes.sizes[contiguous], width = axes.sizes[last];
  if (args.x.size() == 0) return;
  const int64_t matrices = args.x.size() / (height * width), tiles = divide_up(height, kTile);
  each_row(matrices * tiles, kTile * width, [&](int64_t unit) {
    const auto at = axes.offsets(unit / tiles, contiguous);
    const int64_t first = unit % tiles * kTile, end = std::min(height, first + kTile);
    const T* x = args.x.data<T>() + at.x;
    T* y = args.y.data<T>() + at.y;
    for (int64_t left = 0; left < width; left += kTile) {
      const int64_t right = std::min(width, left + kTile);
      for (int64_t i = first; i < end; ++i)
        for (int64_t j = left; j < right; ++j)
          put<T, kAccumulate>(y[i * axes.y_strides[contiguous] + j], x[j * axes.x_strides[last] + i]);
    }
  });
}

}  // namespace

void permute(Stream&, const PermuteArgs& args) {
  const PermutedAxes axes(args);
  with_type_of(args.x, [&]<class T>(T) {
    if (axes.moves_rows()) {
      args.accumulate ? permute_rows<T, true>(args, axes) : permute_rows<T, false>(args, axes);
    } else {
      args.accumulate ? transpose<T, true>(args, axes) : transpose<T, false>(args, axes);
    }
  });
}

}  // namespace fovea::cpu
