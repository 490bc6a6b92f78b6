// The distribution of rows and elements to threads, and the dispatch on the element type.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/threads.h"
#include "kernels/kernels.h"

namespace fovea::cpu {

constexpr int64_t kGrain = int64_t{1} << 14;  // fewest elements for another thread
constexpr int64_t kBlock = int64_t{1} << 12;  // largest number of columns of a block: it fits the L1 cache in f32

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Calls body(row, begin, end) for each block [begin, end) of columns of each of `rows` rows, on all threads. `work` is
// the number of elements that it reads for each column.
template <class Body> void each_block(int64_t rows, int64_t width, Body&& body, int64_t work = 1) {
  const int64_t across = divide_up(width, kBlock);
  const int64_t grain = kGrain / std::clamp<int64_t>(std::min(width, kBlock) * work, 1, kGrain);
  parallel_for(rows * across, grain, [&](int64_t first, int64_t last) {
    if (first == last) return;
    int64_t row = first / across, block = first % across;
    for (int64_t unit = first; unit < last; ++unit) {
      body(row, block * kBlock, std::min(width, (block + 1) * kBlock));
      if (++block == across) block = 0, ++row;
    }
  });
}

// Calls body(row) for each row of `width` elements, on all threads.
template <class Body> void each_row(int64_t rows, int64_t width, Body&& body) {
  parallel_for(rows, kGrain / std::clamp<int64_t>(width, 1, kGrain), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) body(row);
  });
}

// Calls body(T{}) with the type of the tensor's elements: float or bf16.
template <class Body> void with_type_of(const Tensor& x, Body&& body) {
  if (x.dtype() == DType::kF32) return body(float{});
  check(x.dtype() == DType::kBF16, "cpu: expected elements of f32 or bf16, got {}", x.dtype());
  body(bf16{});
}

}  // namespace fovea::cpu
