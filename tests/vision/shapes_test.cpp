// Pictures of two shapes: what they promise to a network that must compare them.
#include "vision/shapes.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fovea {
namespace {

TEST(Shapes, DependOnSeedAndNumberOnly) {
  EXPECT_EQ(shapes_picture(1, 5).image.pixels, shapes_picture(1, 5).image.pixels);
  EXPECT_NE(shapes_picture(1, 5).image.pixels, shapes_picture(2, 5).image.pixels);
  EXPECT_NE(shapes_picture(1, 5).image.pixels, shapes_picture(1, 7).image.pixels);
}

TEST(Shapes, AreFarApartInsideAndOfEveryKindInBothClasses) {
  std::array<std::array<int, kShapeKinds.size()>, kShapeKinds.size()> pairs{};
  constexpr int64_t kCount = 1200;
  constexpr double kRadius = 6.5;
  for (int64_t i = 0; i < kCount; ++i) {
    const ShapesPicture made = shapes_picture(3, i);
    EXPECT_EQ(made.same(), i % 2 == 0);
    ++pairs[made.shapes[0].kind][made.shapes[1].kind];
    const double across = std::abs(made.shapes[0].x - made.shapes[1].x),
                 down = std::abs(made.shapes[0].y - made.shapes[1].y);
    EXPECT_GE(std::max(across, down) - 2 * kRadius, static_cast<double>(kShapesGap) - 1e-9);
    for (const ShapesPicture::Shape& shape : made.shapes) {
      for (const double at : {shape.x, shape.y}) {
        EXPECT_GE(at, kRadius);
        EXPECT_LE(at, static_cast<double>(kShapesSize) - kRadius);
      }
    }
  }
  // Each kind is in 1/6 of the pairs of equal shapes, and each other pair has 1/30 of the rest.
  for (size_t a = 0; a < pairs.size(); ++a) {
    for (size_t b = 0; b < pairs.size(); ++b) {
      EXPECT_NEAR(pairs[a][b], a == b ? 100 : 20, a == b ? 40 : 18) << kShapeKinds[a] << ", " << kShapeKinds[b];
    }
  }
}

// The pixels of both shapes have one colour, so no colour tells.
TEST(Shapes, HaveOneColourOnAnotherGround) {
  const ShapesPicture made = shapes_picture(4, 1);
  const auto pixel = [&](double x, double y) {
    return &made.image
                .pixels[static_cast<size_t>((static_cast<int64_t>(y) * kShapesSize + static_cast<int64_t>(x)) * 3)];
  };
  std::array<int, 3> brightest{};
  for (const ShapesPicture::Shape& shape : made.shapes) {
    std::array<int, 3> own{};
    for (double dy = -6; dy <= 6; ++dy) {
      for (double dx = -6; dx <= 6; ++dx) {
        for (size_t c = 0; c < 3; ++c) own[c] = std::max<int>(own[c], pixel(shape.x + dx, shape.y + dy)[c]);
      }
    }
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_GE(own[c], 130);
      if (brightest[c] > 0) {
        EXPECT_NEAR(own[c], brightest[c], 20);
      }
      brightest[c] = own[c];
    }
  }
}

}  // namespace
}  // namespace fovea
