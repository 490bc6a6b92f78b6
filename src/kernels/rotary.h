// The angles of rotary positions, written once for every backend.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"

namespace fovea {

struct Turn {
  double cosine, sine;
};

// Of pair i of a head of depth d at a position; turned back, the sine changes sign.
FOVEA_HOST_DEVICE inline Turn rotary_turn(int64_t position, int64_t i, int64_t depth, bool back) {
  const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(depth);
  const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
  return {std::cos(angle), back ? -std::sin(angle) : std::sin(angle)};
}

}  // namespace fovea
