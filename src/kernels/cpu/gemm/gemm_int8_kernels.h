// The kernels of the int8 GEMM. All read the weight in one packed layout: panels of 64 columns, in which four values of
// k of a column are adjacent, [n/64][k/4][64][4].
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "kernels/cpu/gemm/gemm_int8.h"

namespace fovea::cpu {

constexpr int64_t kGroup = 4;                     // adjacent values of k
constexpr int64_t kWide8 = 64;                    // columns of a panel
constexpr int64_t kGroupBytes = kWide8 * kGroup;  // of a panel
constexpr int64_t kBlock8 = 64;                   // the depth of rows and panels is a multiple of it: a row of a tile
constexpr int64_t kAhead = 4096;                  // prefetch distance in the weight, in bytes

inline int64_t padded(int64_t k) { return (k + kBlock8 - 1) / kBlock8 * kBlock8; }

// Quantised rows of x, as a kernel reads them.
struct Rows8 {
  const uint8_t* data = nullptr;  // rows are `stride` bytes apart
  int64_t stride = 0;
  const float* scales = nullptr;
  const int32_t* starts = nullptr;  // the first value of all sums of a row
};

// Rows of x by one panel.
struct Tile8 {
  Rows8 a;
  int64_t rows = 0;
  const uint8_t* b = nullptr;
  const float* b_scales = nullptr;
  const int32_t* b_starts = nullptr;  // -128 times the sum of each column, with which unsigned rows start
  int64_t depth = 0;                  // padded(k)
  const float* bias = nullptr;
  float* c = nullptr;
  int64_t c_stride = 0, columns = 0;
};

struct Int8Kernels {
  int64_t height;     // most rows of a tile
  int64_t row_bytes;  // of a quantised row, for each of the padded(k) values
  // Quantises k values, followed by zeros up to padded(k). Returns the scale.
  float (*quantise)(const float* from, int64_t k, uint8_t* to);
  // The same in the form in which the kernel reads rows of x. Sets the first value of the sums of the row.
  float (*quantise_row)(const float* from, int64_t k, uint8_t* to, int32_t& start);
  void (*multiply)(const Tile8& tile);
};

// The scale of a row, and the factor that its values are multiplied with before they are rounded.
struct RowScale {
  float scale, inverse;
};
RowScale row_scale(float most);

const Int8Kernels& plain_int8_kernels();
const Int8Kernels& emulated_amx_int8_kernels();
// On architectures other than x86 these are the plain ones.
const Int8Kernels& avx2_int8_kernels();
const Int8Kernels& avx_vnni_int8_kernels();
const Int8Kernels& vnni256_int8_kernels();
const Int8Kernels& avx512_vnni_int8_kernels();
const Int8Kernels& amx_int8_kernels();
// Elsewhere than in WebAssembly these are the plain ones.
const Int8Kernels& wasm_int8_kernels();

// Scales sums [rows][64] and adds the bias.
void finish_int8_plain(const Tile8& tile, const int32_t* sums);
void finish_int8_avx512(const Tile8& tile, const int32_t* sums);
float quantise_avx512(const float* from, int64_t k, uint8_t* to);
// Leaves the row as quantise does: as signed bytes.
template <float (*kQuantise)(const float*, int64_t, uint8_t*)>
float quantise_signed(const float* from, int64_t k, uint8_t* to, int32_t& start) {
  start = 0;
  return kQuantise(from, k, to);
}

}  // namespace fovea::cpu
