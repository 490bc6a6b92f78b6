// The rotation angles of rotary position embeddings, shared by all backends.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/random.h"

namespace fovea {

struct Rotation {
  double cosine, sine;
};

// Returns the rotation of pair i of a head with `depth` elements; the inverse negates the sine.
FOVEA_HOST_DEVICE inline Rotation rotary_rotation(int64_t position, int64_t i, int64_t depth, bool inverse) {
  const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(depth);
  const double angle = static_cast<double>(position) * std::pow(10000.0, exponent);
  return {std::cos(angle), inverse ? -std::sin(angle) : std::sin(angle)};
}

}  // namespace fovea
