#include "store/elements.h"

#include <bit>
#include <cstring>

namespace fovea {

namespace {

float f16_value(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, fraction = half & 0x3FFu;
  const uint32_t exponent = (half >> 10) & 0x1Fu;
  if (exponent == 0) return (sign != 0 ? -1.0f : 1.0f) * static_cast<float>(fraction) * 0x1p-24f;
  const uint32_t widened = exponent == 31 ? 0xFFu : exponent + 112u;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

template <class Stored, class Convert> void widen(const std::byte* from, std::span<float> to, Convert&& convert) {
  for (size_t i = 0; i < to.size(); ++i) {
    Stored x;
    std::memcpy(&x, from + i * sizeof x, sizeof x);
    to[i] = convert(x);
  }
}

}  // namespace

size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::kF64: return 8;
    case ElementType::kF32:
    case ElementType::kI32: return 4;
    case ElementType::kF16:
    case ElementType::kBF16:
    case ElementType::kI16: return 2;
    case ElementType::kI8: return 1;
  }
  return 1;
}

void widen_elements(ElementType type, const std::byte* from, std::span<float> to) {
  static_assert(std::endian::native == std::endian::little);
  const auto as_float = [](auto x) { return static_cast<float>(x); };
  switch (type) {
    case ElementType::kF32: return widen<float>(from, to, as_float);
    case ElementType::kF64: return widen<double>(from, to, as_float);
    case ElementType::kI8: return widen<int8_t>(from, to, as_float);
    case ElementType::kI16: return widen<int16_t>(from, to, as_float);
    case ElementType::kI32: return widen<int32_t>(from, to, as_float);
    case ElementType::kF16: return widen<uint16_t>(from, to, f16_value);
    case ElementType::kBF16:
      return widen<uint16_t>(from, to, [](uint16_t x) { return std::bit_cast<float>(static_cast<uint32_t>(x) << 16); });
  }
}

}  // namespace fovea
