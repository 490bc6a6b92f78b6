#include "base/random.h"

#include <cmath>
#include <numbers>

namespace fovea {

double Random::uniform() {
  const uint64_t high = bits(), low = bits();
  return static_cast<double>(((high << 32) | low) >> 11) * 0x1p-53;
}

double Random::normal() {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

uint64_t Random::below(uint64_t bound) {
  // Rejects draws above the largest multiple of bound, so that all values are equally likely.
  const uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
  uint64_t draw;
  do {
    draw = (uint64_t{bits()} << 32) | bits();
  } while (draw >= limit);
  return draw % bound;
}

}  // namespace fovea
