// The device whose memory stores a tensor and whose kernels compute on it. `reference` is host memory with plain loops
// in f32 or f64; it is the specification that the other backends are tested against.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"

namespace fovea {

struct Device {
  enum class Kind : uint8_t { kReference, kCpu, kCuda };
  Kind kind = Kind::kCpu;
  uint8_t index = 0;

  static constexpr Device reference() { return {Kind::kReference, 0}; }
  static constexpr Device cpu() { return {Kind::kCpu, 0}; }
  static constexpr Device cuda(uint8_t index = 0) { return {Kind::kCuda, index}; }
  constexpr bool on_host() const { return kind != Kind::kCuda; }
  friend constexpr bool operator==(Device, Device) = default;
};

// Parses auto (CUDA if a device is present, else the CPU), cpu, cuda or cuda:N. Throws Error for any other name and for
// a device that does not exist.
Device device_named(std::string_view name);

}  // namespace fovea

template <> struct fmt::formatter<fovea::Device> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  fmt::appender format(fovea::Device device, fmt::format_context& context) const;
};
