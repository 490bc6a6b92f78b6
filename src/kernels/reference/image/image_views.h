// Views of images [B,Y,X,C] that are indexed by pixel and channel, and iteration over a window.
#pragma once

#include "kernels/reference/common/elements.h"

namespace fovea::reference {

// Calls body(wy, wx, iy, ix) for each position of the window at output (oy, ox) that is inside the image [.., height,
// width, ..]: its index in the window, and in the image.
template <class Body> void for_each_cell(const Window& window, const Tensor& image, int64_t oy, int64_t ox, Body body) {
  for (int64_t wy = 0; wy < window.height; ++wy)
    for (int64_t wx = 0; wx < window.width; ++wx) {
      const int64_t iy = oy * window.stride_y + wy - window.pad_y, ix = ox * window.stride_x + wx - window.pad_x;
      if (0 <= iy && iy < image.dim(1) && 0 <= ix && ix < image.dim(2)) body(wy, wx, iy, ix);
    }
}

// Calls body(b, y, x, c) for each element of an image.
template <class Body> void for_each_element(const Tensor& image, Body body) {
  for (int64_t b = 0; b < image.dim(0); ++b)
    for (int64_t y = 0; y < image.dim(1); ++y)
      for (int64_t x = 0; x < image.dim(2); ++x)
        for (int64_t c = 0; c < image.dim(3); ++c) body(b, y, x, c);
}

template <class T> View<T, 4> view4(const Tensor& x) {
  return x ? view<T>(x, x.dim(0), x.dim(1), x.dim(2), x.dim(3)) : View<T, 4>{};
}

}  // namespace fovea::reference
