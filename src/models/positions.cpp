#include "models/positions.h"

#include <cmath>

namespace fovea {

namespace {

void encode(int64_t place, int64_t depth, float* to) {
  for (int64_t i = 0; i < depth; ++i) {
    const double wavelength = std::pow(10000.0, static_cast<double>(i / 2 * 2) / static_cast<double>(depth));
    const double angle = static_cast<double>(place) / wavelength;
    to[i] = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
  }
}

}  // namespace

std::vector<float> sinusoidal_positions(int64_t count, int64_t depth) {
  std::vector<float> table(static_cast<size_t>(count * depth));
  for (int64_t t = 0; t < count; ++t) encode(t, depth, &table[static_cast<size_t>(t * depth)]);
  return table;
}

std::vector<float> sinusoidal_grid(int64_t rows, int64_t columns, int64_t depth) {
  std::vector<float> table(static_cast<size_t>(rows * columns * depth));
  const int64_t half = depth / 2;
  for (int64_t cell = 0; cell < rows * columns; ++cell) {
    float* to = &table[static_cast<size_t>(cell * depth)];
    encode(cell / columns, half, to);
    encode(cell % columns, depth - half, to + half);
  }
  return table;
}

}  // namespace fovea
