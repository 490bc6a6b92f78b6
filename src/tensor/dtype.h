// Element types. bf16 is the upper half of an f32, rounded to nearest even.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "base/random.h"

namespace fovea {

enum class DType : uint8_t { kF32, kBF16, kI32, kF64 };

struct bf16 {  // NOLINT(readability-identifier-naming): an arithmetic type, spelt like one
  uint16_t bits = 0;

  bf16() = default;
  FOVEA_HOST_DEVICE explicit bf16(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const bool nan = (u & 0x7FFFFFFFu) > 0x7F800000u;
    bits = static_cast<uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
  }
  FOVEA_HOST_DEVICE explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

constexpr size_t size_of(DType type) {
  constexpr size_t kSizes[] = {4, 2, 4, 8};
  return kSizes[static_cast<int>(type)];
}

constexpr std::string_view name_of(DType type) {
  constexpr std::string_view kNames[] = {"f32", "bf16", "i32", "f64"};
  return kNames[static_cast<int>(type)];
}

// The type of sums, parameters and statistics for elements of `type`: f32 for bf16, else `type` itself.
constexpr DType accumulator_of(DType type) { return type == DType::kBF16 ? DType::kF32 : type; }

template <class T> struct DTypeOf;
template <> struct DTypeOf<float> { static constexpr DType kValue = DType::kF32; };
template <> struct DTypeOf<bf16> { static constexpr DType kValue = DType::kBF16; };
template <> struct DTypeOf<int32_t> { static constexpr DType kValue = DType::kI32; };
template <> struct DTypeOf<double> { static constexpr DType kValue = DType::kF64; };
template <class T>
constexpr DType dtype_of = DTypeOf<T>::kValue;  // NOLINT(readability-identifier-naming): reads like a function

}  // namespace fovea

template <> struct fmt::formatter<fovea::DType> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::appender format(fovea::DType type, fmt::format_context& context) const;
};
