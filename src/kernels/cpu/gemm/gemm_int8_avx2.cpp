// The int8 GEMM with 256-bit registers. AVX2 multiplies unsigned by signed bytes and adds two products in 16 bits, with
// saturation, which |a| times b with the sign of a cannot reach. Where a is negative, the bits of b are flipped instead
// of its sign, which is one less: ~b = -b - 1. The sums of the row therefore start at the sum of |a| of its negative
// values. Rows are stored as |a|, then as masks of the negative values. VPSIGNB would need no such start, but competes
// with the multiplications for their ports.
// AVX-VNNI adds four products to a sum of 32 bits in one instruction.
#include "kernels/cpu/gemm/gemm_int8_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>

#include <bit>
#include <cstring>

// The attribute is on the functions, not the file, because inline functions of headers must run on every machine.
#define FOVEA_AVX2 __attribute__((target("avx2,fma")))

namespace fovea::cpu {

namespace {

constexpr int64_t kLane = 8;  // sums of a register

FOVEA_AVX2 inline __m256i first8(int64_t count) {
  const __m256i number = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int32_t>(std::clamp<int64_t>(count, 0, kLane))), number);
}

// Flips the bits `flipped` of each byte.
FOVEA_AVX2 inline float quantise_flipped(const float* from, int64_t k, uint8_t flipped, uint8_t* to) {
  const __m256i magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  __m256i largest = _mm256_setzero_si256();  // compared as bits, as in the plain kernel
  const int64_t whole = k / kLane * kLane;
  for (int64_t i = 0; i < whole; i += kLane) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
    largest = _mm256_max_epu32(largest, _mm256_and_si256(bits, magnitude));
  }
  const __m256 last = whole < k ? _mm256_maskload_ps(from + whole, first8(k - whole)) : _mm256_setzero_ps();
  largest = _mm256_max_epu32(largest, _mm256_and_si256(_mm256_castps_si256(last), magnitude));
  alignas(32) uint32_t lanes[kLane];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), largest);
  const auto [scale, factor] = row_scale(std::bit_cast<float>(*std::max_element(lanes, lanes + kLane)));

  const __m256 inverse = _mm256_set1_ps(factor);
  const __m128i flip = _mm_set1_epi8(static_cast<char>(flipped));
  const auto store = [&](__m256 values, uint8_t * at) __attribute__((target("avx2,fma"))) {
    const __m256i words = _mm256_cvtps_epi32(_mm256_mul_ps(values, inverse));
    const __m128i halves = _mm_packs_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(at), _mm_xor_si128(_mm_packs_epi16(halves, halves), flip));
  };
  for (int64_t i = 0; i < whole; i += kLane) store(_mm256_loadu_ps(from + i), to + i);
  if (whole < k) store(last, to + whole);
  std::memset(to + k, 0, static_cast<size_t>(padded(k) - k));
  return scale;
}

FOVEA_AVX2 float quantise(const float* from, int64_t k, uint8_t* to) { return quantise_flipped(from, k, 0, to); }

FOVEA_AVX2 float quantise_unsigned(const float* from, int64_t k, uint8_t* to, int32_t& start) {
  start = 0;
  return quantise_flipped(from, k, 0x80, to);
}

FOVEA_AVX2 float quantise_magnitudes(const float* from, int64_t k, uint8_t* to, int32_t& start) {
  const float scale = quantise_flipped(from, k, 0, to);
  __m256i sums = _mm256_setzero_si256();  // of 64 bits
  for (int64_t i = 0; i < padded(k); i += 32) {
    auto* at = reinterpret_cast<__m256i*>(to + i);
    const __m256i a = _mm256_loadu_si256(at), negative = _mm256_cmpgt_epi8(_mm256_setzero_si256(), a);
    const __m256i size = _mm256_abs_epi8(a);
    sums = _mm256_add_epi64(sums, _mm256_sad_epu8(_mm256_and_si256(size, negative), _mm256_setzero_si256()));
    _mm256_storeu_si256(at, size);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + padded(k) + i), negative);
  }
  alignas(32) int64_t lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sums);
  start = static_cast<int32_t>(lanes[0] + lanes[1] + lanes[2] + lanes[3]);
  return scale;
}

FOVEA_AVX2 inline __m256i group_of(const uint8_t* a) {
  int32_t four;
  __builtin_memcpy(&four, a, sizeof four);
  return _mm256_set1_epi32(four);
}

FOVEA_AVX2 void finish(const Tile8& t, const int32_t* sums) {
  for (int64_t column = 0; column < t.columns; column += kLane) {
    const __m256i mask = first8(t.columns - column);
    const __m256 b_scale = _mm256_loadu_ps(t.b_scales + column);
    const __m256 bias = t.bias ? _mm256_maskload_ps(t.bias + column, mask) : _mm256_setzero_ps();
    for (int64_t r = 0; r < t.rows; ++r) {
      const __m256i sum = _mm256_load_si256(reinterpret_cast<const __m256i*>(sums + r * kWide8 + column));
      const __m256 y = _mm256_mul_ps(_mm256_cvtepi32_ps(sum), b_scale);
      const __m256 scaled = _mm256_fmadd_ps(y, _mm256_set1_ps(t.a.scales[r]), bias);
      float* c = t.c + r * t.c_stride + column;
      if (column + kLane <= t.columns) {
        _mm256_storeu_ps(c, scaled);
      } else {
        _mm256_maskstore_ps(c, mask, scaled);
      }
    }
  }
}

// Computes sums [kRows][64] of columns [column, column + 8 kVectors) of the panel.
template <int kRows, int kVectors> FOVEA_AVX2 void multiply_avx2(const Tile8& t, int64_t column, int32_t* sums) {
  __m256i sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm256_set1_epi32(t.a.starts[r]);
  }
  const __m256i ones = _mm256_set1_epi16(1);
  const uint8_t* b = t.b + column * kGroup;
  for (int64_t k = 0; k < t.depth; k += kGroup, b += kGroupBytes) {
    __m256i columns[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      columns[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + v * 32));
      if (kRows == 1 && v % 2 == 0) __builtin_prefetch(b + v * 32 + kAhead);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const uint8_t* a = t.a.data + r * t.a.stride + k;
      const __m256i size = group_of(a), negative = group_of(a + t.depth);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) {
        const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_xor_si256(columns[v], negative));
        sum[r][v] = _mm256_add_epi32(sum[r][v], _mm256_madd_epi16(pairs, ones));
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + r * kWide8 + column + v * kLane), sum[r][v]);
    }
  }
}

// The instruction of AVX-VNNI, or the same one in the encoding of AVX-512, which other CPUs have.
template <bool kVex> FOVEA_AVX2 inline void dot_accumulate(__m256i& sum, __m256i a, __m256i b) {
  if constexpr (kVex) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  } else {
    asm("%{evex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  }
}

template <bool kVex, int kRows, int kVectors>
FOVEA_AVX2 void multiply_vnni(const Tile8& t, int64_t column, int32_t* sums) {
  __m256i sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      sum[r][v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(t.b_starts + column + v * kLane));
    }
  }
  const uint8_t* b = t.b + column * kGroup;
  for (int64_t k = 0; k < t.depth; k += kGroup, b += kGroupBytes) {
    __m256i columns[kVectors];
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      columns[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + v * 32));
      if (kRows == 1 && v % 2 == 0) __builtin_prefetch(b + v * 32 + kAhead);
    }
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const __m256i row = group_of(t.a.data + r * t.a.stride + k);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) dot_accumulate<kVex>(sum[r][v], row, columns[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      _mm256_store_si256(reinterpret_cast<__m256i*>(sums + r * kWide8 + column + v * kLane), sum[r][v]);
    }
  }
}

// The sums of as many columns as fit into 16 registers beside the factors. One row reads whole groups of the panel, in
// the order in which they are stored.
constexpr int vectors_of(int rows) { return rows == 1 ? 8 : rows == 2 ? 4 : 2; }

using MultiplyColumns = void (*)(const Tile8&, int64_t, int32_t*);
struct Height {
  MultiplyColumns multiply;
  int64_t columns;
};
template <size_t... kRow> constexpr auto avx2_heights(std::index_sequence<kRow...>) {
  return std::array{Height{multiply_avx2<kRow + 1, vectors_of(kRow + 1)>, kLane * vectors_of(kRow + 1)}...};
}
template <bool kVex, size_t... kRow> constexpr auto vnni_heights(std::index_sequence<kRow...>) {
  return std::array{Height{multiply_vnni<kVex, kRow + 1, vectors_of(kRow + 1)>, kLane * vectors_of(kRow + 1)}...};
}

constexpr size_t kHeightAvx2 = 4, kHeightVnni = 6;
constexpr auto kAvx2 = avx2_heights(std::make_index_sequence<kHeightAvx2>());
constexpr auto kVex = vnni_heights<true>(std::make_index_sequence<kHeightVnni>());
constexpr auto kEvex = vnni_heights<false>(std::make_index_sequence<kHeightVnni>());

template <const auto& kHeights> void multiply(const Tile8& t) {
  alignas(32) int32_t sums[kHeightVnni * kWide8];
  const Height& height = kHeights[static_cast<size_t>(t.rows - 1)];
  for (int64_t column = 0; column < t.columns; column += height.columns) height.multiply(t, column, sums);
  finish(t, sums);
}

}  // namespace

const Int8Kernels& avx2_int8_kernels() {
  static constexpr Int8Kernels kKernels = {.height = kHeightAvx2,
                                           .row_bytes = 2,
                                           .quantise = quantise,
                                           .quantise_row = quantise_magnitudes,
                                           .multiply = multiply<kAvx2>};
  return kKernels;
}

const Int8Kernels& avx_vnni_int8_kernels() {
  static constexpr Int8Kernels kKernels = {.height = kHeightVnni,
                                           .row_bytes = 1,
                                           .quantise = quantise,
                                           .quantise_row = quantise_unsigned,
                                           .multiply = multiply<kVex>};
  return kKernels;
}

const Int8Kernels& vnni256_int8_kernels() {
  static constexpr Int8Kernels kKernels = {.height = kHeightVnni,
                                           .row_bytes = 1,
                                           .quantise = quantise,
                                           .quantise_row = quantise_unsigned,
                                           .multiply = multiply<kEvex>};
  return kKernels;
}

}  // namespace fovea::cpu

#else

namespace fovea::cpu {

const Int8Kernels& avx2_int8_kernels() { return plain_int8_kernels(); }
const Int8Kernels& avx_vnni_int8_kernels() { return plain_int8_kernels(); }
const Int8Kernels& vnni256_int8_kernels() { return plain_int8_kernels(); }

}  // namespace fovea::cpu

#endif
