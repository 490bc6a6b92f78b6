// Large numbers as people read them.
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <string>

namespace fovea {

// "12,345"; for numbers of at least 0.
inline std::string thousands(int64_t number) {
  if (number < 1000) return fmt::format("{}", number);
  return fmt::format("{},{:03}", thousands(number / 1000), number % 1000);
}

}  // namespace fovea
