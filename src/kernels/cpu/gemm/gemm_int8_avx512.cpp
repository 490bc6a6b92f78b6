// The int8 GEMM with AVX-512 VNNI, whose VPDPBUSD adds four products of an unsigned and a signed byte to each of 16
// sums. Up to 6 rows by 64 columns of sums stay in registers.
#include "kernels/cpu/gemm/gemm_int8_kernels.h"

#if defined(__x86_64__)
#pragma GCC diagnostic push
#ifndef __clang__  // GCC 12 warns about the undefined registers of its own header
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop

#include <bit>
#include <cstring>

// The attribute is on the functions, not the file, because inline functions of headers must run on every machine.
#define FOVEA_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512vnni")))

namespace fovea::cpu {

namespace {

constexpr int kVectors = 4, kHeight = 6;  // registers of sums

FOVEA_VNNI inline __mmask16 first16(int64_t count) {
  return static_cast<__mmask16>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1 << count) - 1);
}

}  // namespace

namespace {

// Flips the bits `flipped` of each byte.
FOVEA_VNNI inline float quantise_flipped(const float* from, int64_t k, uint8_t flipped, uint8_t* to) {
  const __m512i magnitude = _mm512_set1_epi32(0x7FFFFFFF);
  __m512i largest = _mm512_setzero_si512();  // compared as bits, as in the plain kernel
  for (int64_t i = 0; i < k; i += 16) {
    const __m512i bits = _mm512_maskz_loadu_epi32(first16(k - i), from + i);
    largest = _mm512_max_epu32(largest, _mm512_and_si512(bits, magnitude));
  }
  const auto [scale, factor] = row_scale(std::bit_cast<float>(_mm512_reduce_max_epu32(largest)));
  const __m512 inverse = _mm512_set1_ps(factor);
  const __m128i flip = _mm_set1_epi8(static_cast<char>(flipped));
  for (int64_t i = 0; i < k; i += 16) {
    const __m512 values = _mm512_maskz_loadu_ps(first16(k - i), from + i);
    const __m128i bytes = _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(_mm512_mul_ps(values, inverse)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm_xor_si128(bytes, flip));
  }
  std::memset(to + k, 0, static_cast<size_t>(padded(k) - k));
  return scale;
}

// VPDPBUSD reads rows plus 128 as unsigned bytes. The padding may have any value, because the weight's is 0.
FOVEA_VNNI float quantise_unsigned(const float* from, int64_t k, uint8_t* to, int32_t& start) {
  start = 0;
  return quantise_flipped(from, k, 0x80, to);
}

}  // namespace

FOVEA_VNNI float quantise_avx512(const float* from, int64_t k, uint8_t* to) { return quantise_flipped(from, k, 0, to); }

FOVEA_VNNI void finish_int8_avx512(const Tile8& t, const int32_t* sums) {
  for (int64_t column = 0; column < t.columns; column += 16) {
    const __mmask16 mask = first16(t.columns - column);
    const __m512 scale = _mm512_loadu_ps(t.b_scales + column);
    const __m512 bias = t.bias ? _mm512_maskz_loadu_ps(mask, t.bias + column) : _mm512_setzero_ps();
    for (int64_t r = 0; r < t.rows; ++r) {
      const __m512 y = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_loadu_si512(sums + r * kWide8 + column)), scale);
      _mm512_mask_storeu_ps(t.c + r * t.c_stride + column, mask,
                            _mm512_fmadd_ps(y, _mm512_set1_ps(t.a.scales[r]), bias));
    }
  }
}

namespace {

// Computes sums [kRows][64].
template <int kRows> FOVEA_VNNI void multiply_rows(const Tile8& t, int32_t* sums) {
  __m512i sum[kRows][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_loadu_si512(t.b_starts + v * 16);
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
      __builtin_memcpy(&four, t.a.data + r * t.a.stride + k, sizeof four);
      const __m512i row = _mm512_set1_epi32(four);
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) sum[r][v] = _mm512_dpbusd_epi32(sum[r][v], row, column[v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) _mm512_store_si512(sums + r * kWide8 + v * 16, sum[r][v]);
  }
}

using MultiplyRows = void (*)(const Tile8&, int32_t*);
template <size_t... kRow> constexpr auto multiply_table(std::index_sequence<kRow...>) {
  return std::array<MultiplyRows, sizeof...(kRow)>{multiply_rows<kRow + 1>...};
}

void multiply(const Tile8& t) {
  static constexpr auto kMultiply = multiply_table(std::make_index_sequence<kHeight>());
  alignas(64) int32_t sums[kHeight * kWide8];
  kMultiply[static_cast<size_t>(t.rows - 1)](t, sums);
  finish_int8_avx512(t, sums);
}

}  // namespace

const Int8Kernels& avx512_vnni_int8_kernels() {
  static constexpr Int8Kernels kKernels = {.height = kHeight,
                                           .row_bytes = 1,
                                           .quantise = quantise_avx512,
                                           .quantise_row = quantise_unsigned,
                                           .multiply = multiply};
  return kKernels;
}

}  // namespace fovea::cpu

#else

namespace fovea::cpu {

const Int8Kernels& avx512_vnni_int8_kernels() { return plain_int8_kernels(); }

}  // namespace fovea::cpu

#endif
