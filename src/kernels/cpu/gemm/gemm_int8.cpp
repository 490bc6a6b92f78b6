// VPDPBUSD adds four products of an unsigned and a signed byte to each of 16 sums. Therefore 128 is added to the rows
// of x, and sums start at -128 times the sum of the row of the weight. Up to 6 rows by 64 columns of sums stay in
// registers.
#include "kernels/cpu/gemm/gemm_int8.h"

#include "kernels/cpu/common/processor.h"
#include "kernels/cpu/gemm/gemm_bf16.h"
#include "kernels/cpu/gemm/packed_weights.h"

#if defined(__x86_64__)
#pragma GCC diagnostic push
#ifndef __clang__  // GCC 12 warns about the undefined registers of its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/threads.h"
#include "kernels/cpu/common/workspace.h"
#endif

namespace fovea::cpu {

bool in_int8(const MatmulArgs& args) {
  constexpr int64_t kMinSize = 16, kMaxDepth = 1 << 17;  // of n and k; of k
  const auto f32 = [](const Matrix& x) { return x.tensor.dtype() == DType::kF32; };
  const bool kind = args.precision == Precision::kInt8 && PackedWeights::can_cache(args.b) && args.b.transposed &&
                    !args.a.transposed && f32(args.a) && f32(args.b) && f32(args.c) && args.batch == 1 &&
                    args.alpha == 1.0f && !args.accumulate;
  // Without AMX, int8 is twice as fast as bf16 for any number of rows; AMX in bf16 is faster for many rows.
  constexpr int64_t kHighest = 64;
  const bool overtaken = args.m > kHighest && bf16_kernel() == Bf16Kernel::kAmx;
  return kind && kUsesAvx512Vnni && !overtaken && args.n >= kMinSize && args.k >= kMinSize && args.k <= kMaxDepth;
}

#if defined(__x86_64__)

// The attribute is on the functions, not the file, because inline functions of headers must run on every machine.
#define FOVEA_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace {

constexpr int64_t kGroup = 4;                    // values of k per instruction
constexpr int kVectors = 4, kHeight = 6;         // registers of sums
constexpr int64_t kWide = 16 * kVectors;         // columns of a panel
constexpr int64_t kGroupBytes = kWide * kGroup;  // of a panel
constexpr int64_t kAhead = 4096;                 // prefetch distance in the weight, in bytes

int64_t padded(int64_t k, int64_t to = kGroup) { return (k + to - 1) / to * to; }

FOVEA_VNNI inline __mmask16 first16(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1 << count) - 1);
}

// Quantises `count` values, flips the bits `flipped` of each byte and appends zeros up to padded(count, 16). Returns
// the scale.
FOVEA_VNNI float quantise(const float* from, int64_t count, uint8_t flipped, uint8_t* to) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest =
      _mm512_setzero_si512();  // compared as bits, which have the order of the values, with infinity and NaN last
  for (int64_t i = 0; i < count; i += 16) {
    const __m512i bits = _mm512_maskz_loadu_epi32(first16(count - i), from + i);
    largest = _mm512_max_epu32(largest, _mm512_and_si512(bits, magnitude));
  }
  constexpr float kLeast = 0x1p-100f, kSteps = 127.0f;
  const auto most = std::bit_cast<float>(_mm512_reduce_max_epu32(largest));
  const bool zero = most < kLeast, finite = std::isfinite(most);
  const __m512 inverse = _mm512_set1_ps(zero || !finite ? 0.0f : kSteps / most);
  const __m128i flip = _mm_set1_epi8(static_cast<char>(flipped));
  for (int64_t i = 0; i < count; i += 16) {
    const __m512 values = _mm512_maskz_loadu_ps(first16(count - i), from + i);
    const __m128i bytes = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(values, inverse)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm_xor_si128(bytes, flip));
  }
  return !finite ? std::numeric_limits<float>::quiet_NaN() : zero ? 0.0f : most / kSteps;
}

// ---- the weight --------------------------------------------------------------------------------

// The quantised weight [n/64][k/4][64][4], padded with 0, with the scale and the initial sum of each column.
struct Int8Pack : PackedCopy {
  Int8Pack(int64_t n, int64_t k)
      : panels((n + kWide - 1) / kWide),
        panel_bytes(padded(k) * kWide),
        data(data_memory.get<uint8_t>(static_cast<size_t>(panels * panel_bytes))),
        scales(scale_memory.get<float>(static_cast<size_t>(panels * kWide))),
        starts(start_memory.get<int32_t>(static_cast<size_t>(panels * kWide))) {}

  int64_t panels, panel_bytes;
  Workspace data_memory, scale_memory, start_memory;
  uint8_t* data;
  float* scales;
  int32_t* starts;
};

void fill_panel(const Matrix& weight, int64_t n, int64_t k, int64_t panel, const Int8Pack& pack) {
  uint8_t* to = pack.data + panel * pack.panel_bytes;
  std::memset(to, 0, static_cast<size_t>(pack.panel_bytes));
  auto* row = workspace<uint8_t, struct RoundedWeightRow>(static_cast<size_t>(padded(k, 16)));
  for (int64_t j = 0; j < kWide; ++j) {
    const int64_t column = panel * kWide + j;
    float scale = 0;
    int32_t sum = 0;
    if (column < n) {
      scale = quantise(weight.tensor.data<float>() + weight.offset + column * weight.row_stride, k, 0, row);
      for (int64_t i = 0; i < k; ++i) sum += static_cast<int8_t>(row[i]);
      for (int64_t i = 0; i < padded(k); i += kGroup) std::memcpy(to + i * kWide + j * kGroup, row + i, kGroup);
    }
    pack.scales[column] = scale;
    pack.starts[column] = -128 * sum;
  }
}

const Int8Pack& packed_weight_int8(const Matrix& weight, int64_t n, int64_t k) {
  return PackedWeights::get<Int8Pack>(
      weight, {PackedWeightKey::Layout::kInt8, weight, n, k}, [&] { return std::make_unique<Int8Pack>(n, k); },
      [&](Int8Pack& stale) {
        parallel_for(stale.panels, 1, [&](int64_t begin, int64_t end) {
          for (int64_t panel = begin; panel < end; ++panel) fill_panel(weight, n, k, panel, stale);
        });
      });
}

// ---- the product -------------------------------------------------------------------------------

// At most kHeight rows by one panel.
struct Tile8 {
  const uint8_t* a = nullptr;  // rows are a_stride apart
  const float* a_scales = nullptr;
  int64_t a_stride = 0, depth = 0;
  const uint8_t* b = nullptr;
  const float* b_scales = nullptr;
  const int32_t* starts = nullptr;
  const float* bias = nullptr;
  float* c = nullptr;
  int64_t c_stride = 0, columns = 0;
};

// Computes sums [kRows][64].
template <int kRows> FOVEA_VNNI void multiply(const Tile8& t, int32_t* sums) {
  __m512i sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_loadu_si512(t.starts + v * 16);
  }
  const uint8_t* b = t.b;
  for (int64_t k = 0; k < t.depth; k += kGroup, b += kGroupBytes) {
    __m512i column[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      column[v] = _mm512_loadu_si512(b + v * 64);
      __builtin_prefetch(b + v * 64 + kAhead);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      int32_t four;
      __builtin_memcpy(&four, t.a + r * t.a_stride + k, sizeof four);
      const __m512i row = _mm512_set1_epi32(four);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], row, column[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) _mm512_store_si512(sums + r * kWide + v * 16, sum[r][v]);
  }
}

FOVEA_VNNI void finish(const Tile8& t, const int32_t* sums, int64_t rows) {
  for (int64_t column = 0; column < t.columns; column += 16) {
    const __mmask16 mask = first16(t.columns - column);
    const __m512 scale = _mm512_loadu_ps(t.b_scales + column);
    const __m512 bias = t.bias ? _mm512_maskz_loadu_ps(mask, t.bias + column) : _mm512_setzero_ps();
    for (int64_t r = 0; r < rows; ++r) {
      const __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums + r * kWide + column)), scale);
      _mm512_mask_storeu_ps(t.c + r * t.c_stride + column, mask,
                            _mm512_fmadd_ps(y, _mm512_set1_ps(t.a_scales[r]), bias));
    }
  }
}

using Multiply = void (*)(const Tile8&, int32_t*);
template <size_t... kRow> constexpr auto multiply_table(std::index_sequence<kRow...>) {
  return std::array<Multiply, sizeof...(kRow)>{multiply<kRow + 1>...};
}

}  // namespace

void matmul_int8(const MatmulArgs& args) {
  static constexpr auto kMultiply = multiply_table(std::make_index_sequence<kHeight>());
  constexpr int64_t kGrain = 1 << 20;  // fewest multiplications for another thread
  const int64_t m = args.m, n = args.n, k = args.k, stride = padded(k, 16);
  const Int8Pack& weight = packed_weight_int8(args.b, n, k);

  auto* rows = workspace<uint8_t, struct RoundedRows8>(static_cast<size_t>(m * stride));
  auto* scales = workspace<float, struct RowScales8>(static_cast<size_t>(m));
  const float* a = args.a.tensor.data<float>() + args.a.offset;
  constexpr int64_t kRounded = 1 << 17;  // fewest values to quantise for another thread
  parallel_for(m, kRounded / stride, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      scales[i] = quantise(a + i * args.a.row_stride, k, 0x80, rows + i * stride);
    }
  });

  // Blocks of rows have nearly equal heights. A few rows cost as much as eight, because reading b then dominates.
  const int64_t blocks = (m + kHeight - 1) / kHeight, work = std::max<int64_t>(m, 8) * stride * kWide;
  parallel_for(weight.panels, kGrain / work, [&](int64_t begin, int64_t end) {
    alignas(64) int32_t sums[kHeight * kWide];
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t column = panel * kWide;
      for (int64_t block = 0; block < blocks; ++block) {
        const int64_t row = m * block / blocks, count = m * (block + 1) / blocks - row;
        const Tile8 tile = {.a = rows + row * stride,
                            .a_scales = scales + row,
                            .a_stride = stride,
                            .depth = padded(k),
                            .b = weight.data + panel * weight.panel_bytes,
                            .b_scales = weight.scales + column,
                            .starts = weight.starts + column,
                            .bias = args.bias ? args.bias.data<float>() + column : nullptr,
                            .c = args.c.tensor.data<float>() + args.c.offset + row * args.c.row_stride + column,
                            .c_stride = args.c.row_stride,
                            .columns = std::min(kWide, n - column)};
        kMultiply[static_cast<size_t>(count - 1)](tile, sums);
        finish(tile, sums, count);
      }
    }
  });
}

#else

void matmul_int8(const MatmulArgs&) { fail("matmul: expected a machine with int8 products"); }

#endif

}  // namespace fovea::cpu
