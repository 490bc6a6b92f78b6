// The bf16 GEMM with AVX-512: VDPBF16PS adds two products to each of 16 sums. Up to 14 rows by 32 columns of sums stay
// in registers; with few rows, more panels are processed together, so that enough independent sums hide the latency of
// the instruction.
#if defined(__x86_64__)
#pragma GCC diagnostic push
#ifndef __clang__  // GCC 12 warns about the undefined registers of its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <array>
#include <utility>
#endif

#include "kernels/cpu/gemm/gemm_bf16_kernels.h"

namespace fovea::cpu {

#if defined(__x86_64__)

// The attribute is on the functions, not the file, because inline functions of headers must run on every machine.
#define FOVEA_AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16")))
#define FOVEA_AVX512_INLINE FOVEA_AVX512 __attribute__((always_inline)) inline

namespace {

constexpr int kHeight = 14;

// ---- packing -----------------------------------------------------------------------------------

// Returns a mask of the lowest `count` bits.
FOVEA_AVX512_INLINE __mmask16 first16(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1 << count) - 1);
}

FOVEA_AVX512_INLINE __m512i rounded(__m512 low, __m512 high) {
  return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// Loads the first `count` of 32 adjacent values, rounded; the others are 0.
FOVEA_AVX512_INLINE __m512i load32(const float* from, int64_t count) {
  if (count >= 32) return rounded(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16));
  return rounded(_mm512_maskz_loadu_ps(first16(count), from), _mm512_maskz_loadu_ps(first16(count - 16), from + 16));
}
FOVEA_AVX512_INLINE __m512i load32(const bf16* from, int64_t count) {
  const auto mask = static_cast<__mmask32>(count >= 32 ? 0xFFFFFFFFu : (uint32_t{1} << count) - 1);
  return _mm512_maskz_loadu_epi16(mask, from);
}

// Interleaves 16 values of two stored rows: row0[0], row1[0], row0[1], row1[1] ...
struct Pair {
  __mmask16 columns, second;  // the columns that exist, and those that exist in the second row
};
FOVEA_AVX512_INLINE __m512i load_pairs(const float* row0, const float* row1, Pair pair) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21,
                                         5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512 low = _mm512_maskz_loadu_ps(pair.columns, row0), high = _mm512_maskz_loadu_ps(pair.second, row1);
  return _mm512_permutexvar_epi16(order, rounded(low, high));
}
FOVEA_AVX512_INLINE __m512i load_pairs(const bf16* row0, const bf16* row1, Pair pair) {
  const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(pair.columns, row0));
  const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(pair.second, row1));
  return _mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

// Transposes 16 x 16 words of 32 bits: within 128-bit lanes by twos and fours, then the lanes.
FOVEA_AVX512_INLINE void transpose(__m512i (&x)[16]) {
  __m512i y[16];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {  // x[i + 4g] contains words i, i+4, i+8, i+12 of rows 4g .. 4g+3
    y[i] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0x88);
    y[i + 4] = _mm512_shuffle_i32x4(x[i], x[i + 4], 0xDD);
    y[i + 8] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0x88);
    y[i + 12] = _mm512_shuffle_i32x4(x[i + 8], x[i + 12], 0xDD);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    x[i] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0x88);
    x[i + 8] = _mm512_shuffle_i32x4(y[i], y[i + 8], 0xDD);
    x[i + 4] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0x88);
    x[i + 12] = _mm512_shuffle_i32x4(y[i + 4], y[i + 12], 0xDD);
  }
}

// Both packings have two variants. If k runs along the stored rows, 32 adjacent values are a row of the left factor's
// tile, and 16 such rows, transposed, are a tile of the right factor. If k runs across the stored rows, it is the other
// way round.
template <class T> struct Source {
  const T* data;
  int64_t stride;
  int64_t row_end, k_end;  // one past the last

  explicit Source(const Region& region)
      : data(static_cast<const T*>(region.data)),
        stride(region.stride),
        row_end(region.row + region.rows),
        k_end(region.k + region.depth) {}

  FOVEA_AVX512_INLINE __m512i along(int64_t row, int64_t k) const {
    if (row >= row_end) return _mm512_setzero_si512();
    return load32(data + row * stride + k, k_end - k);
  }
  FOVEA_AVX512_INLINE __m512i across(int64_t row, int64_t k) const {
    if (k >= k_end) return _mm512_setzero_si512();
    const __mmask16 columns = first16(row_end - row);
    const T* first = data + k * stride + row;
    return k + 1 < k_end ? load_pairs(first, first + stride, {columns, columns})
                         : load_pairs(first, first, {columns, 0});
  }
};

template <class T> FOVEA_AVX512 void pack_rows(const Region& region, bf16* to) {
  const Source<T> source(region);
  if (region.along) {
    for (int64_t row = 0; row < region.rows; ++row) {
      bf16* block = to + row * kDepth;
      for (int64_t k = region.k; k < source.k_end; k += kDepth, block += region.rows * kDepth) {
        _mm512_storeu_si512(block, source.along(region.row + row, k));
      }
    }
    return;
  }
  for (int64_t k = region.k; k < source.k_end; k += kDepth, to += region.rows * kDepth) {
    for (int64_t row = 0; row < region.rows; row += kTile) {
      __m512i tile[16];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) tile[i] = source.across(region.row + row, k + 2 * i);
      transpose(tile);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) {
        if (row + i < region.rows) _mm512_storeu_si512(to + (row + i) * kDepth, tile[i]);
      }
    }
  }
}

template <class T> FOVEA_AVX512 void pack_panel(const Region& region, bf16* to) {
  const Source<T> source(region);
  for (int64_t k = region.k; k < source.k_end; k += kDepth) {
    for (int64_t row = region.row; row < region.row + kPanel; row += kTile, to += kTileSize) {
      __m512i tile[16];
      if (region.along) {
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) tile[i] = source.along(row + i, k);
        transpose(tile);
      } else {
#pragma GCC unroll 16
        for (int i = 0; i < 16; ++i) tile[i] = source.across(row, k + 2 * i);
      }
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * kDepth, tile[i]);
    }
  }
}

// ---- results -----------------------------------------------------------------------------------

template <bool kHalf> FOVEA_AVX512_INLINE __m512 load_c(const void* c, __mmask16 mask) {
  if constexpr (kHalf) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, c)), 16));
  } else {
    return _mm512_maskz_loadu_ps(mask, c);
  }
}

template <bool kHalf> FOVEA_AVX512 void finish(const Sums& sums, const Output& out) {
  const __m512 alpha = _mm512_set1_ps(out.alpha);
  for (int64_t row = 0; row < sums.rows; ++row) {
    for (int64_t column = 0; column < sums.columns; column += 16) {
      const __mmask16 mask = first16(sums.columns - column);
      const Output at = shifted(out, row, column);
      __m512 x = _mm512_mul_ps(alpha, _mm512_loadu_ps(sums.data + row * sums.stride + column));
      if (out.bias) x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(mask, at.bias));
      if (out.accumulate) x = _mm512_add_ps(x, load_c<kHalf>(at.data, mask));
      if constexpr (kHalf) {
        _mm256_mask_storeu_epi16(at.data, mask, reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
      } else {
        _mm512_mask_storeu_ps(at.data, mask, x);
      }
    }
  }
}

// ---- the product -------------------------------------------------------------------------------

// Computes sums [kRows][32 * kPanels] of kRows rows by kPanels panels.
template <int kRows, int kPanels> FOVEA_AVX512 void multiply(const Strip& strip, const bf16* b, float* sums) {
  constexpr int kVectors = 2 * kPanels;
  __m512 sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_setzero_ps();
  }
  const bf16* a = strip.a;
  for (int64_t block = 0; block < strip.blocks; ++block, a += kRows * kDepth, b += kBlockSize) {
    for (int64_t pair = 0; pair < kDepth; pair += 2) {
      __m512bh column[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const bf16* tile = b + (v / 2) * strip.panel_stride + (v % 2) * kTileSize;
        column[v] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(tile + pair * kTile));
        __builtin_prefetch(tile + pair * kTile + kBlockSize);  // for the next block
      }
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        int32_t two;
        __builtin_memcpy(&two, a + r * kDepth + pair, sizeof two);
        const auto row = reinterpret_cast<__m512bh>(_mm512_set1_epi32(two));
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbf16_ps(sum[r][v], row, column[v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) _mm512_store_ps(sums + r * kVectors * 16 + v * 16, sum[r][v]);
  }
}

constexpr int panels_with(int rows) { return rows <= 3 ? 4 : rows <= 7 ? 2 : 1; }  // rows * panels <= 14

using Multiply = void (*)(const Strip&, const bf16*, float*);
template <size_t... kRow> constexpr auto multiply_table(std::index_sequence<kRow...>) {
  struct Entry {
    Multiply one, several;
  };
  return std::array<Entry, sizeof...(kRow)>{Entry{multiply<kRow + 1, 1>, multiply<kRow + 1, panels_with(kRow + 1)>}...};
}

void strip_avx512(const Strip& strip) {
  static constexpr auto kMultiply = multiply_table(std::make_index_sequence<kHeight>());
  const int64_t several = panels_with(static_cast<int>(strip.rows));
  const auto& entry = kMultiply[static_cast<size_t>(strip.rows - 1)];
  alignas(64) float sums[kHeight * kPanel];
  for (int64_t panel = 0; panel < strip.panels;) {
    const int64_t count = strip.panels - panel >= several ? several : 1;
    (count == 1 ? entry.one : entry.several)(strip, strip.b + panel * strip.panel_stride, sums);
    const int64_t column = panel * kPanel, width = count * kPanel;
    finish_avx512(
        {.data = sums, .stride = width, .rows = strip.rows, .columns = std::min(width, strip.columns - column)},
        shifted(strip.out, 0, column));
    panel += count;
  }
}

}  // namespace

void finish_avx512(const Sums& sums, const Output& out) {
  out.dtype == DType::kBF16 ? finish<true>(sums, out) : finish<false>(sums, out);
}
void pack_rows_avx512(const Region& region, bf16* to) {
  region.dtype == DType::kBF16 ? pack_rows<bf16>(region, to) : pack_rows<float>(region, to);
}
void pack_panel_avx512(const Region& region, bf16* to) {
  region.dtype == DType::kBF16 ? pack_panel<bf16>(region, to) : pack_panel<float>(region, to);
}

const Bf16Kernels& avx512_kernels() {
  static constexpr Bf16Kernels kKernels = {
      .height = kHeight, .strip = strip_avx512, .pack_rows = pack_rows_avx512, .pack_panel = pack_panel_avx512};
  return kKernels;
}

#else

const Bf16Kernels& avx512_kernels() { return emulated_kernels(); }

#endif

}  // namespace fovea::cpu
