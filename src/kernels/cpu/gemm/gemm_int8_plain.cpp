// The int8 GEMM in plain C++, which the other kernels equal to the bit.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/gemm/gemm_int8_kernels.h"

namespace fovea::cpu {

RowScale row_scale(float most) {
  constexpr float kLeast = 0x1p-100f, kSteps = 127.0f;
  if (!std::isfinite(most)) return {std::numeric_limits<float>::quiet_NaN(), 0.0f};
  return most < kLeast ? RowScale{0.0f, 0.0f} : RowScale{most / kSteps, kSteps / most};
}

void finish_int8_plain(const Tile8& t, const int32_t* sums) {
  for (int64_t r = 0; r < t.rows; ++r) {
    for (int64_t j = 0; j < t.columns; ++j) {
      const float y = static_cast<float>(sums[r * kWide8 + j]) * t.b_scales[j];
      t.c[r * t.c_stride + j] = std::fma(y, t.a.scales[r], t.bias ? t.bias[j] : 0.0f);
    }
  }
}

namespace {

constexpr int64_t kHeight = 4;

float quantise(const float* from, int64_t k, uint8_t* to) {
  uint32_t largest = 0;  // compared as bits, which have the order of the values, with infinity and NaN last
  for (int64_t i = 0; i < k; ++i) largest = std::max(largest, std::bit_cast<uint32_t>(from[i]) & 0x7FFFFFFFu);
  const auto [scale, inverse] = row_scale(std::bit_cast<float>(largest));
  // Adding 1.5 * 2^23 rounds to an integer, ties to even, which is the last byte of the sum.
  constexpr float kRound = 12582912.0f;
  for (int64_t i = 0; i < k; ++i) {
    const float rounded = from[i] * inverse + kRound;
    to[i] = static_cast<uint8_t>(std::bit_cast<uint32_t>(rounded));
  }
  std::memset(to + k, 0, static_cast<size_t>(padded(k) - k));
  return scale;
}

void multiply(const Tile8& t) {
  int32_t sums[kHeight * kWide8] = {};
  const auto* b = reinterpret_cast<const int8_t*>(t.b);
  for (int64_t k = 0; k < t.depth; k += kGroup, b += kGroupBytes) {
    for (int64_t r = 0; r < t.rows; ++r) {
      const auto* a = reinterpret_cast<const int8_t*>(t.a.data + r * t.a.stride + k);
      const int32_t a0 = a[0], a1 = a[1], a2 = a[2], a3 = a[3];
      int32_t* sum = sums + r * kWide8;
      for (int64_t j = 0; j < kWide8; ++j) {
        const int8_t* column = b + j * kGroup;
        sum[j] += a0 * column[0] + a1 * column[1] + a2 * column[2] + a3 * column[3];
      }
    }
  }
  finish_int8_plain(t, sums);
}

}  // namespace

const Int8Kernels& plain_int8_kernels() {
  static constexpr Int8Kernels kKernels = {.height = kHeight,
                                           .row_bytes = 1,
                                           .quantise = quantise,
                                           .quantise_row = quantise_signed<quantise>,
                                           .multiply = multiply};
  return kKernels;
}

}  // namespace fovea::cpu
