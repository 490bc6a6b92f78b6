// The common parts of dot-product attention and its gradient: heads of sequences as packed f32 matrices, their GEMMs,
// and the masked softmax of a row. The work is split into strips of queries, each with all keys of a sentence and head.
#include <hwy/cache_control.h>

#include "kernels/cpu/attention/masked_score_rows.h"
#include "kernels/cpu/common/philox_simd.h"
#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

#if defined(FOVEA_KERNELS_CPU_ATTENTION_DOT_ATTENTION_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_ATTENTION_DOT_ATTENTION_H_
#undef FOVEA_KERNELS_CPU_ATTENTION_DOT_ATTENTION_H_
#else
#define FOVEA_KERNELS_CPU_ATTENTION_DOT_ATTENTION_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE::dot {

constexpr int64_t kStrip = 32;           // queries processed together
constexpr int64_t kFew = 4;              // packing the keys pays off from this number of queries on
constexpr int64_t kItemTerms = 1 << 19;  // fewest multiplications for another thread

constexpr int64_t padded(int64_t width) { return divide_up(width, kLanes) * kLanes; }

// One head of one sentence in a sequence [N,B,H,width]: row i starts at first + i * stride.
template <class T> struct Rows {
  T* first;
  int64_t stride, count, width;
  T* at(int64_t row) const { return first + row * stride; }
  Rows rows(int64_t begin, int64_t end) const { return {at(begin), stride, end - begin, width}; }
};
// pair = b * heads + h
template <class T> Rows<T> head_of(const Tensor& sequence, int64_t heads, int64_t pair) {
  const int64_t width = sequence.dim(2) / heads;
  return {sequence.data<T>() + pair * width, sequence.dim(1) * sequence.dim(2), sequence.dim(0), width};
}

// A matrix in f32 with rows `stride` apart, padded so that whole registers can be read and written.
struct Panel {
  float* data;
  int64_t stride;
  float* at(int64_t row) const { return data + row * stride; }
};
// A stride of whole kilobytes is avoided, because it would map all rows to a few sets of the cache.
template <class Name> Panel panel(int64_t rows, int64_t width) {
  const int64_t stride = padded(width) + (padded(width) % 256 == 0 ? kLanes : 0);
  return {workspace<float, Name>(static_cast<size_t>(rows * stride)), stride};
}

// Prefetches rows, because the hardware does not predict their large stride.
template <class T> HWY_INLINE void prefetch_after(const Rows<T>& rows, int64_t row) {
  constexpr int64_t kAhead = 5, kLine = 64 / sizeof(T);
  for (int64_t j = 0; j < rows.width; j += kLine) hwy::Prefetch(rows.at(row + kAhead) + j);
}

// to = scale * rows, with zeros in the padding.
template <class T> void pack(const Rows<T>& rows, float scale, const Panel& to) {
  for (int64_t i = 0; i < rows.count; ++i) {
    prefetch_after(rows, i);
    each_register(rows.width,
                  [&](int64_t j, auto lanes) { store(Floats(scale) * load(rows.at(i) + j, lanes), to.at(i) + j); });
  }
}

// to[j][i] = from[i][j] for i < rows, j < columns. The padding of each row of `to` is set to 0.
inline void transpose(const Panel& from, int64_t rows, int64_t columns, const Panel& to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::Full128<float> d;
  for (; i + 4 <= rows; i += 4) {
    for (int64_t j = 0; j < columns; j += 4) {  // the padding of `from` covers a multiple of four
      const auto a = hn::LoadU(d, from.at(i) + j), b = hn::LoadU(d, from.at(i + 1) + j);
      const auto c = hn::LoadU(d, from.at(i + 2) + j), e = hn::LoadU(d, from.at(i + 3) + j);
      const auto low_ac = hn::InterleaveLower(d, a, c), high_ac = hn::InterleaveUpper(d, a, c);
      const auto low_be = hn::InterleaveLower(d, b, e), high_be = hn::InterleaveUpper(d, b, e);
      const decltype(hn::Zero(d)) turned[4] = {
          hn::InterleaveLower(d, low_ac, low_be), hn::InterleaveUpper(d, low_ac, low_be),
          hn::InterleaveLower(d, high_ac, high_be), hn::InterleaveUpper(d, high_ac, high_be)};
      for (int64_t k = 0; k < 4 && j + k < columns; ++k) hn::StoreU(turned[k], d, to.at(j + k) + i);
    }
  }
#endif
  for (int64_t j = 0; j < columns; ++j) {
    for (int64_t rest = i; rest < rows; ++rest) to.at(j)[rest] = from.at(rest)[j];
    std::fill(to.at(j) + rows, to.at(j) + padded(rows), 0.0f);
  }
}

// The left factor of a GEMM: a matrix or its transpose.
struct Left {
  const float* data;
  int64_t row, column;  // strides
};
inline Left rows_of(const Panel& a) { return {a.data, a.stride, 1}; }
inline Left columns_of(const Panel& a) { return {a.data, 1, a.stride}; }

// c (+)= a b with a [m,k], b [k,n], c [m,n].
struct Product {
  Left a;
  Panel b, c;
  int64_t m, n, k;
  bool accumulate = false;
};

template <int kRows, int kRegisters> HWY_INLINE void multiply_tile(const Product& product, int64_t i, int64_t j) {
  Floats sums[kRows][kRegisters];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kRegisters; ++c) {
      sums[r][c] = product.accumulate ? load(product.c.at(i + r) + j + c * kLanes) : Floats(0);
    }
  }
  const float* a = product.a.data + i * product.a.row;
  const float* b = product.b.data + j;
  for (int64_t p = 0; p < product.k; ++p) {
    Floats row[kRegisters];
#pragma GCC unroll 2
    for (int c = 0; c < kRegisters; ++c) row[c] = load(b + c * kLanes);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const Floats factor(a[r * product.a.row]);
#pragma GCC unroll 2
      for (int c = 0; c < kRegisters; ++c) sums[r][c] = mul_add(factor, row[c], sums[r][c]);
    }
    a += product.a.column;
    b += product.b.stride;
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < kRegisters; ++c) store(sums[r][c], product.c.at(i + r) + j + c * kLanes);
  }
}

inline void multiply(const Product& product) {
  for (int64_t j = 0; j < product.n; j += 2 * kLanes) {
    const bool two = j + kLanes < product.n;
    int64_t i = 0;
    for (; i + 4 <= product.m; i += 4) two ? multiply_tile<4, 2>(product, i, j) : multiply_tile<4, 1>(product, i, j);
    for (; i < product.m; ++i) two ? multiply_tile<1, 2>(product, i, j) : multiply_tile<1, 1>(product, i, j);
  }
}

// Computes the masked softmax of a row of scores in place, over `columns` of which some may be masked. Returns the
// log-sum-exp, -inf if all are masked.
inline float softmax_row(float* scores, int64_t columns, const RowMask& mask) {
  const int64_t visible = std::min(columns, mask.visible);
  const Floats hidden(-HUGE_VALF);
  Floats running_max = hidden;
  each_register(visible, [&](int64_t s, auto lanes) {
    Floats score = load(scores + s, lanes);
    if (mask.bias) {
      const Floats bias = load(mask.bias + s, lanes);
      score = if_greater(bias, hidden, score + bias, hidden);
      store(score, scores + s, lanes);
    }
    running_max = maximum(running_max, mask_lanes(score, lanes, hidden));
  });
  const float largest = max(running_max);
  if (largest == -HUGE_VALF) {
    std::fill(scores, scores + columns, 0.0f);
    return largest;
  }
  const float total = row_sum(0, visible, [&](int64_t s, auto lanes) {
    const Floats e = exp_nonpositive(load(scores + s, lanes) - Floats(largest));
    store(e, scores + s, lanes);
    return e;
  });
  const Floats share(1.0f / total);
  each_register(visible, [&](int64_t s, auto lanes) { store(load(scores + s, lanes) * share, scores + s, lanes); });
  std::fill(scores + visible, scores + columns, 0.0f);
  return largest + std::log(total);
}

// Computes the dropout factors of the elements [first, first + columns).
inline const float* dropout_row(const DropoutFactors& drawn, int64_t first, int64_t columns) {
  const int64_t before = first % 4;  // Philox yields four words at a time
  float* factors = workspace<float, struct WeightFactors>(static_cast<size_t>(before + columns + kWords));
  for (int64_t i = 0; i < before + columns; i += kWords)
    drawn.get(static_cast<uint64_t>(first - before + i) / 4, factors + i);
  return factors + before;
}

// out[s] = x . rows[s], four rows at a time: out is padded by three elements.
template <class T> void dot_rows(const float* x, const Rows<T>& rows, float* out) {
  for (int64_t s = 0; s < rows.count; s += 4) {
    const T* row[4];
    for (int64_t i = 0; i < 4; ++i) row[i] = rows.at(std::min(s + i, rows.count - 1));
    Floats a(0), b(0), c(0), d(0);
    each_register(rows.width, [&](int64_t i, auto lanes) {
      const Floats left = load(x + i);
      a = mul_add(left, load(row[0] + i, lanes), a);
      b = mul_add(left, load(row[1] + i, lanes), b);
      c = mul_add(left, load(row[2] + i, lanes), c);
      d = mul_add(left, load(row[3] + i, lanes), d);
    });
    const Floats dots[4] = {a, b, c, d};
    for (int64_t i = 0; i < 4; ++i) out[s + i] = sum(dots[i]);
  }
}

// out = sum over s of weights[s] * rows[s], in whole registers.
template <class T> void mix_rows(const float* weights, const Rows<T>& rows, float* out) {
  int64_t i = 0;
  for (; i + 4 * kLanes <= rows.width; i += 4 * kLanes) {
    Floats a(0), b(0), c(0), d(0);
    for (int64_t s = 0; s < rows.count; ++s) {
      const T* row = rows.at(s) + i;
      const Floats weight(weights[s]);
      a = mul_add(weight, load(row), a);
      b = mul_add(weight, load(row + kLanes), b);
      c = mul_add(weight, load(row + 2 * kLanes), c);
      d = mul_add(weight, load(row + 3 * kLanes), d);
    }
    store(a, out + i);
    store(b, out + i + kLanes);
    store(c, out + i + 2 * kLanes);
    store(d, out + i + 3 * kLanes);
  }
  each_register(i, rows.width, [&](int64_t j, auto lanes) {
    Floats mixed(0);
    for (int64_t s = 0; s < rows.count; ++s) mixed = mul_add(Floats(weights[s]), load(rows.at(s) + j, lanes), mixed);
    store(mixed, out + j);
  });
}

template <class Args> ScoreShape shape_of(const Args& args) {
  return {.batch = args.query.dim(1), .heads = args.heads, .queries = args.query.dim(0), .keys = args.keys.dim(0)};
}

}  // namespace fovea::cpu::HWY_NAMESPACE::dot
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_ATTENTION_DOT_ATTENTION_H_
