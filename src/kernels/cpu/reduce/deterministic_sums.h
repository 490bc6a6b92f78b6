// Sums over rows and over columns on all threads. A sum is split into pieces by its size alone, and the partial sums
// are added in order, so that the result does not depend on the number of threads.
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/common/workspace.h"

#if defined(FOVEA_KERNELS_CPU_REDUCE_DETERMINISTIC_SUMS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_REDUCE_DETERMINISTIC_SUMS_H_
#undef FOVEA_KERNELS_CPU_REDUCE_DETERMINISTIC_SUMS_H_
#else
#define FOVEA_KERNELS_CPU_REDUCE_DETERMINISTIC_SUMS_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

// Returns the sum of term(i, lanes) over the elements [begin, end).
template <class Term> HWY_INLINE float row_sum(int64_t begin, int64_t end, Term&& term) {
  Floats total(0);
  each_register(begin, end, [&](int64_t i, auto lanes) { total += mask_lanes(term(i, lanes), lanes, Floats(0)); });
  return sum(total);
}

// sums[row] = sum of term(row, i, lanes) over the `width` elements of each row.
template <class Term> void row_sums(int64_t rows, int64_t width, float* sums, Term&& term) {
  const int64_t across = divide_up(width, kBlock);
  if (across <= 1) {
    return each_row(rows, width, [&](int64_t row) {
      sums[row] = row_sum(0, width, [&](int64_t i, auto lanes) { return term(row, i, lanes); });
    });
  }
  float* pieces = workspace<float, struct PiecesOfRows>(static_cast<size_t>(rows * across));
  each_block(rows, width, [&](int64_t row, int64_t begin, int64_t end) {
    pieces[row * across + begin / kBlock] =
        row_sum(begin, end, [&](int64_t i, auto lanes) { return term(row, i, lanes); });
  });
  for (int64_t row = 0; row < rows; ++row) {
    double total = 0;
    for (int64_t i = 0; i < across; ++i) total += pieces[row * across + i];
    sums[row] = static_cast<float>(total);
  }
}

// Calls finish(o, i, sums, lanes) for each register of columns i of [outer, inner], with the sums over `count` of
// term(o, j, i, lanes), the terms of [outer, count, inner].
struct Columns {
  int64_t outer, count, inner;
};
template <class Term, class Finish> void column_sums(const Columns& shape, Term&& term, Finish&& finish) {
  if (shape.count == 1) {
    return each_block(shape.outer, shape.inner, [&](int64_t o, int64_t begin, int64_t end) {
      each_register(begin, end, [&](int64_t i, auto lanes) { finish(o, i, term(o, 0, i, lanes), lanes); });
    });
  }
  const int64_t max_chunks = 64;
  const int64_t rows = std::max<int64_t>(32, divide_up(shape.count, max_chunks));
  const int64_t chunks = divide_up(shape.count, rows);
  float* pieces = workspace<float, struct PiecesOfColumns>(static_cast<size_t>(shape.outer * chunks * shape.inner));
  each_block(
      shape.outer * chunks, shape.inner,
      [&](int64_t chunk, int64_t begin, int64_t end) {
        float* piece = pieces + chunk * shape.inner;
        const int64_t o = chunk / chunks, first = chunk % chunks * rows, last = std::min(shape.count, first + rows);
        each_register(begin, end, [&](int64_t i, auto lanes) { store(term(o, first, i, lanes), piece + i, lanes); });
        for (int64_t j = first + 1; j < last; ++j) {
          each_register(begin, end, [&](int64_t i, auto lanes) {
            store(load(piece + i, lanes) + term(o, j, i, lanes), piece + i, lanes);
          });
        }
      },
      std::min(rows, shape.count));
  each_block(
      shape.outer, shape.inner,
      [&](int64_t o, int64_t begin, int64_t end) {
        each_register(begin, end, [&](int64_t i, auto lanes) {
          Floats total(0);
          for (int64_t c = 0; c < chunks; ++c) total += load(pieces + (o * chunks + c) * shape.inner + i, lanes);
          finish(o, i, total, lanes);
        });
      },
      chunks);
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_REDUCE_DETERMINISTIC_SUMS_H_
