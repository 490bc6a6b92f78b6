// The sizes of a kernel on images [B,Y,X,C] with a sliding window, and the windows that contain a pixel.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

struct ImageShape {
  int64_t height, width, channels, out_height, out_width;
  Window window;

  ImageShape(const Tensor& x, const Tensor& y, const Window& over)
      : height(x.dim(1)),
        width(x.dim(2)),
        channels(x.dim(3)),
        out_height(y.dim(1)),
        out_width(y.dim(2)),
        window(over) {}
  FOVEA_HOST_DEVICE int64_t image() const { return height * width * channels; }
  FOVEA_HOST_DEVICE int64_t positions() const { return out_height * out_width; }
  FOVEA_HOST_DEVICE int64_t columns() const { return window.height * window.width * channels; }
};

// Calls body(oy, ox, wy, wx) for each window (oy, ox) that contains pixel (y, x), at its position (wy, wx).
template <class Body> __device__ void for_each_window(const ImageShape& shape, int64_t y, int64_t x, Body body) {
  for (int64_t wy = 0; wy < shape.window.height; ++wy) {
    const int64_t from_y = y + shape.window.pad_y - wy;
    if (from_y < 0 || from_y % shape.window.stride_y != 0 || from_y / shape.window.stride_y >= shape.out_height)
      continue;
    for (int64_t wx = 0; wx < shape.window.width; ++wx) {
      const int64_t from_x = x + shape.window.pad_x - wx;
      if (from_x < 0 || from_x % shape.window.stride_x != 0 || from_x / shape.window.stride_x >= shape.out_width)
        continue;
      body(from_y / shape.window.stride_y, from_x / shape.window.stride_x, wy, wx);
    }
  }
}

}  // namespace fovea::cuda
