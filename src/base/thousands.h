// Formats large numbers for people.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace fovea {

// "12,345". The number must not be negative.
inline std::string thousands(int64_t number) {
  if (number < 1000) return fmt::format("{}", number);
  return fmt::format("{},{:03}", thousands(number / 1000), number % 1000);
}

// "1 step", "12,345 steps".
inline std::string counted(int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", thousands(number), noun, number == 1 ? "" : "s");
}

}  // namespace fovea
