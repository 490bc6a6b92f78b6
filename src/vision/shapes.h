// Pictures for a toy task that needs an interaction over a long distance: two shapes far apart, are they the same?
// Picture i depends only on the seed and i.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "vision/image.h"

namespace fovea {

inline constexpr std::array<std::string_view, 6> kShapeKinds = {"disc", "square", "triangle", "cross", "ring", "bars"};
inline constexpr int64_t kShapesSize = 80;  // height and width of a picture
// At least so many pixels are between the two shapes, along one of the axes.
inline constexpr int64_t kShapesGap = 47;

struct ShapesPicture {
  struct Shape {
    size_t kind = 0;      // of kShapeKinds
    double x = 0, y = 0;  // the centre, in pixels
  };
  Image image;
  std::array<Shape, 2> shapes;

  bool same() const { return shapes[0].kind == shapes[1].kind; }
};

// Pictures with an even i have two equal shapes. Both shapes of a picture have one colour.
ShapesPicture shapes_picture(uint64_t seed, int64_t i);

}  // namespace fovea
