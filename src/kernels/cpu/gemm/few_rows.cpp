// A right factor that is stored by rows is read row by row into sums of four registers of columns. One that is stored
// transposed is multiplied by dot products, four columns at a time. The order of a sum over k depends on k and on how
// the matrix is stored.
#include "kernels/cpu/gemm/few_rows.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/gemm/few_rows.cpp"
#include "kernels/cpu/common/simd.h"

#ifndef FOVEA_KERNELS_CPU_GEMM_FEW_ROWS_CPP_
#define FOVEA_KERNELS_CPU_GEMM_FEW_ROWS_CPP_

namespace fovea::cpu {

// One row by the whole matrix.
struct OneRow {
  const float *a, *b;
  int64_t b_stride, n, k;
  PanelOutput out;
};

}  // namespace fovea::cpu

#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

template <class Lanes> HWY_INLINE void finish(Floats sum, int64_t column, const PanelOutput& out, Lanes lanes) {
  sum *= Floats(out.alpha);
  if (out.bias) sum += load(out.bias + column, lanes);
  if (out.accumulate) sum += load(out.data + column, lanes);
  store(sum, out.data + column, lanes);
}

// kVectors registers of columns from `column` on; the last may have some lanes only.
template <int kVectors, class Lanes> void multiply_columns(const OneRow& x, int64_t column, Lanes last) {
  Floats sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sum[v] = Floats(0);
  const float* b = x.b + column;
  for (int64_t l = 0; l < x.k; ++l, b += x.b_stride) {
    const Floats factor(x.a[l]);
#pragma GCC unroll 4
    for (int v = 0; v + 1 < kVectors; ++v) sum[v] = mul_add(factor, load(b + v * kLanes), sum[v]);
    sum[kVectors - 1] = mul_add(factor, load(b + (kVectors - 1) * kLanes, last), sum[kVectors - 1]);
  }
#pragma GCC unroll 4
  for (int v = 0; v + 1 < kVectors; ++v) finish(sum[v], column + v * kLanes, x.out, AllLanes{});
  finish(sum[kVectors - 1], column + (kVectors - 1) * kLanes, x.out, last);
}

// kColumns columns of a transposed matrix.
template <int kColumns> void multiply_dots(const OneRow& x, int64_t column) {
  Floats sum[kColumns];
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) sum[j] = Floats(0);
  const float* b = x.b + column * x.b_stride;
  each_register(x.k, [&](int64_t l, auto lanes) {
    const Floats a = load(x.a + l, lanes);
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) sum[j] = mul_add(a, load(b + j * x.b_stride + l, lanes), sum[j]);
  });
#pragma GCC unroll 4
  for (int j = 0; j < kColumns; ++j) {
    const int64_t at = column + j;
    const float before = x.out.accumulate ? x.out.data[at] : 0.0f, bias = x.out.bias ? x.out.bias[at] : 0.0f;
    x.out.data[at] = HWY_NAMESPACE::sum(sum[j]) * x.out.alpha + bias + before;
  }
}

}  // namespace

void multiply_by_rows(const OneRow& x) {
  constexpr int kMost = 4;
  int64_t column = 0;
  for (; column + kMost * kLanes <= x.n; column += kMost * kLanes) multiply_columns<kMost>(x, column, AllLanes{});
  for (; column + kLanes <= x.n; column += kLanes) multiply_columns<1>(x, column, AllLanes{});
  if (column < x.n) multiply_columns<1>(x, column, FirstLanes{x.n - column});
}

void multiply_by_columns(const OneRow& x) {
  constexpr int kMost = 4;
  int64_t column = 0;
  for (; column + kMost <= x.n; column += kMost) multiply_dots<kMost>(x, column);
  for (; column < x.n; ++column) multiply_dots<1>(x, column);
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(multiply_by_rows);
HWY_EXPORT(multiply_by_columns);

void multiply_few(const PanelRows& rows, const MatrixView& b, int64_t n, int64_t k, const PanelOutput& out) {
  for (int64_t i = 0; i < rows.m; ++i) {
    const float* a = rows.whole + i * (rows.transposed ? 1 : rows.stride);
    if (rows.transposed) {
      auto* adjacent = workspace<float, struct AdjacentRow>(static_cast<size_t>(k));
      for (int64_t l = 0; l < k; ++l) adjacent[l] = a[l * rows.stride];
      a = adjacent;
    }
    const OneRow row = {
        .a = a, .b = static_cast<const float*>(b.data), .b_stride = b.row_stride, .n = n, .k = k, .out = out.at(i, 0)};
    b.transposed ? HWY_DYNAMIC_DISPATCH(multiply_by_columns)(row) : HWY_DYNAMIC_DISPATCH(multiply_by_rows)(row);
  }
}

}  // namespace fovea::cpu
#endif  // HWY_ONCE
