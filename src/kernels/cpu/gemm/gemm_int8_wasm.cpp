// The int8 GEMM with WebAssembly's registers of 128 bits. One instruction multiplies eight values of 16 bits and adds
// neighbouring products in 32 bits. Rows of x are stored in 16 bits; the bytes of the weight are widened as they are
// loaded.
#include "kernels/cpu/gemm/gemm_int8_kernels.h"

#if defined(__wasm_simd128__)
#include <wasm_simd128.h>

#include <cmath>
#include <cstring>

namespace fovea::cpu {

namespace {

constexpr int64_t kLane = 4;  // values of 32 bits in a register
constexpr int kHeight = 4;

float quantise(const float* from, int64_t k, uint8_t* to) { return plain_int8_kernels().quantise(from, k, to); }

v128_t rounded(const float* from, v128_t inverse) {
  return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(wasm_f32x4_mul(wasm_v128_load(from), inverse)));
}

float quantise_row(const float* from, int64_t k, uint8_t* to, int32_t& start) {
  start = 0;
  auto* words = reinterpret_cast<int16_t*>(to);
  const int64_t whole = k / (2 * kLane) * (2 * kLane);
  v128_t largest = wasm_f32x4_splat(0.0f);  // compared as bits, as in the plain kernel
  for (int64_t i = 0; i < whole; i += kLane) {
    largest = wasm_i32x4_max(largest, wasm_f32x4_abs(wasm_v128_load(from + i)));
  }
  float last[2 * kLane] = {}, lanes[kLane];
  std::memcpy(last, from + whole, static_cast<size_t>(k - whole) * sizeof(float));
  for (int64_t i = 0; i < 2 * kLane; i += kLane) {
    largest = wasm_i32x4_max(largest, wasm_f32x4_abs(wasm_v128_load(last + i)));
  }
  largest = wasm_i32x4_max(largest, wasm_i32x4_shuffle(largest, largest, 2, 3, 0, 1));
  wasm_v128_store(lanes, wasm_i32x4_max(largest, wasm_i32x4_shuffle(largest, largest, 1, 0, 3, 2)));
  const auto [scale, factor] = row_scale(lanes[0]);

  const v128_t inverse = wasm_f32x4_splat(factor);
  const auto store = [&](const float* values, int16_t* at) {
    wasm_v128_store(at, wasm_i16x8_narrow_i32x4(rounded(values, inverse), rounded(values + kLane, inverse)));
  };
  for (int64_t i = 0; i < whole; i += 2 * kLane) store(from + i, words + i);
  if (whole < k) store(last, words + whole);
  const int64_t stored = whole < k ? whole + 2 * kLane : whole;
  std::memset(words + stored, 0, static_cast<size_t>(padded(k) - stored) * sizeof(int16_t));
  return scale;
}

// Four columns of a row: the scaled sums and the bias.
void finish(const Tile8& t, int64_t row, int64_t column, v128_t sums) {
  const v128_t scaled = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sums), wasm_v128_load(t.b_scales + column));
  v128_t y = wasm_f32x4_mul(scaled, wasm_f32x4_splat(t.a.scales[row]));
  float* c = t.c + row * t.c_stride + column;
  if (column + kLane <= t.columns) {
    if (t.bias) y = wasm_f32x4_add(y, wasm_v128_load(t.bias + column));
    wasm_v128_store(c, y);
    return;
  }
  float lanes[kLane];
  wasm_v128_store(lanes, y);
  for (int64_t j = 0; column + j < t.columns; ++j) c[j] = lanes[j] + (t.bias ? t.bias[column + j] : 0.0f);
}

// Columns [column, column + 2 kPairs) of the panel. A sum has, for each of two columns, those of even and odd pairs of
// values.
template <int kRows, int kPairs> void multiply_columns(const Tile8& t, int64_t column) {
  v128_t sum[kRows][kPairs];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; ++p) sum[r][p] = wasm_i32x4_splat(0);
  }
  const uint8_t* b = t.b + column * kGroup;
  const uint8_t* a = t.a.data;
  for (int64_t k = 0; k < t.depth; k += kGroup, b += kGroupBytes, a += kGroup * sizeof(int16_t)) {
    v128_t columns[kPairs];
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; ++p) columns[p] = wasm_i16x8_load8x8(b + p * 2 * kGroup);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const v128_t row = wasm_v128_load64_splat(a + r * t.a.stride);
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) sum[r][p] = wasm_i32x4_add(sum[r][p], wasm_i32x4_dot_i16x8(row, columns[p]));
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int p = 0; p < kPairs; p += 2) {
      const int64_t at = column + 2 * p;
      if (at >= t.columns) continue;
      const v128_t even = wasm_i32x4_shuffle(sum[r][p], sum[r][p + 1], 0, 2, 4, 6);
      const v128_t odd = wasm_i32x4_shuffle(sum[r][p], sum[r][p + 1], 1, 3, 5, 7);
      finish(t, r, at, wasm_i32x4_add(even, odd));
    }
  }
}

// As many columns at once as have their sums, with the factors, in 16 registers.
template <int kRows, int kPairs> void multiply_rows(const Tile8& t) {
  for (int64_t column = 0; column < t.columns; column += 2 * kPairs) multiply_columns<kRows, kPairs>(t, column);
}

void multiply(const Tile8& t) {
  switch (t.rows) {
    case 1: return multiply_rows<1, 8>(t);
    case 2: return multiply_rows<2, 4>(t);
    case 3: return multiply_rows<3, 2>(t);
    default: return multiply_rows<kHeight, 2>(t);
  }
}

}  // namespace

const Int8Kernels& wasm_int8_kernels() {
  static constexpr Int8Kernels kKernels = {.height = kHeight,
                                           .row_bytes = sizeof(int16_t),
                                           .quantise = quantise,
                                           .quantise_row = quantise_row,
                                           .multiply = multiply};
  return kKernels;
}

}  // namespace fovea::cpu

#else

namespace fovea::cpu {

const Int8Kernels& wasm_int8_kernels() { return plain_int8_kernels(); }

}  // namespace fovea::cpu

#endif
