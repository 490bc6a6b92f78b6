#include "vision/shapes.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace fovea {

namespace {

constexpr uint64_t kShapesSeed = 0x5A4E'5000;
constexpr double kRadius = 6.5;  // pixels
constexpr int kSamples = 4;      // along each axis of a pixel

// Whether a shape covers (u, v), where the shape fills the square from -1 to 1.
bool covers(size_t kind, double u, double v) {
  const double largest = std::max(std::abs(u), std::abs(v)), distance = std::hypot(u, v);
  switch (kind) {
    case 0: return distance <= 1;
    case 1: return largest <= 0.9;
    case 2: return v <= 0.9 && std::abs(u) <= (v + 1) / 1.9;
    case 3: return largest <= 1 && std::min(std::abs(u), std::abs(v)) <= 0.3;
    case 4: return distance <= 1 && distance >= 0.55;
    default: return largest <= 0.95 && std::abs(v) >= 0.4;
  }
}

// The share of a pixel that a shape covers.
double coverage(const ShapesPicture::Shape& shape, int64_t x, int64_t y) {
  if (std::abs(static_cast<double>(x) + 0.5 - shape.x) > kRadius + 1 ||
      std::abs(static_cast<double>(y) + 0.5 - shape.y) > kRadius + 1) {
    return 0;
  }
  int inside = 0;
  for (int i = 0; i < kSamples * kSamples; ++i) {
    const double px = static_cast<double>(x) + (i % kSamples + 0.5) / kSamples,
                 py = static_cast<double>(y) + (i / kSamples + 0.5) / kSamples;
    inside += covers(shape.kind, (px - shape.x) / kRadius, (py - shape.y) / kRadius) ? 1 : 0;
  }
  return static_cast<double>(inside) / (kSamples * kSamples);
}

}  // namespace

ShapesPicture shapes_picture(uint64_t seed, int64_t i) {
  constexpr double kFirst = kRadius, kLast = kShapesSize - kRadius;  // of a centre
  constexpr double kMove = (kLast - kFirst - 2 * kRadius - kShapesGap) / 2;
  Random random(seed + kShapesSeed, static_cast<uint64_t>(i));
  ShapesPicture made;
  const uint64_t kind = random.below(kShapeKinds.size()), other = random.below(kShapeKinds.size() - 1);
  made.shapes[0].kind = kind;
  made.shapes[1].kind = i % 2 == 0 ? kind : other + (other >= kind ? 1 : 0);
  const bool across = random.below(2) == 0, swapped = random.below(2) == 0;
  for (size_t n = 0; n < 2; ++n) {
    const double far = n == 0 ? random.uniform(kFirst, kFirst + kMove) : random.uniform(kLast - kMove, kLast);
    const double free = random.uniform(kFirst, kLast);
    ShapesPicture::Shape& shape = made.shapes[swapped ? 1 - n : n];
    shape.x = across ? far : free;
    shape.y = across ? free : far;
  }
  std::array<double, 3> colour{}, ground{};
  for (size_t c = 0; c < 3; ++c) {
    colour[c] = random.uniform(140, 240);
    ground[c] = random.uniform(10, 70);
  }
  made.image = {kShapesSize, kShapesSize, {}};
  made.image.pixels.reserve(static_cast<size_t>(kShapesSize * kShapesSize * 3));
  for (int64_t p = 0; p < kShapesSize * kShapesSize; ++p) {
    double covered = 0;
    for (const ShapesPicture::Shape& shape : made.shapes) {
      covered = std::max(covered, coverage(shape, p % kShapesSize, p / kShapesSize));
    }
    const double noise = random.uniform(-10, 10);
    for (size_t c = 0; c < 3; ++c) {
      made.image.pixels.push_back(static_cast<uint8_t>(std::lround(std::lerp(ground[c], colour[c], covered) + noise)));
    }
  }
  return made;
}

}  // namespace fovea
