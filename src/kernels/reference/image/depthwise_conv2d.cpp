// Depthwise convolution of images [B,Y,X,C].
#include <algorithm>

#include "kernels/reference/functions.h"
#include "kernels/reference/image/image_views.h"

namespace fovea::reference {

void depthwise_conv2d(Stream&, const DepthwiseConv2dArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view4<T>(args.x), y = view4<T>(args.y);
    const auto weight = view<T>(args.weight, args.window.height, args.window.width, args.x.dim(3));
    const T* bias = args.bias.data<T>();
    for_each_element(args.y, [&](int64_t b, int64_t oy, int64_t ox, int64_t c) {
      T sum = bias != nullptr ? bias[c] : T(0);
      for_each_cell(args.window, args.x, oy, ox, [&](int64_t wy, int64_t wx, int64_t iy, int64_t ix) {
        sum += weight(wy, wx, c) * x(b, iy, ix, c);
      });
      y(b, oy, ox, c) = args.relu ? std::max(sum, T(0)) : sum;
    });
  });
}

void depthwise_conv2d_grad(Stream&, const DepthwiseConv2dGradArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view4<T>(args.x), dy = view4<T>(args.dy), dx = view4<T>(args.dx);
    const int64_t height = args.window.height, width = args.window.width, channels = args.x.dim(3);
    const auto weight = view<T>(args.weight, height, width, channels);
    const auto dweight = view<T>(args.dweight, height, width, channels);
    T* dbias = args.dbias.data<T>();
    for_each_element(args.dy, [&](int64_t b, int64_t oy, int64_t ox, int64_t c) {
      const T dsum = dy(b, oy, ox, c);
      if (dbias != nullptr) dbias[c] += dsum;
      for_each_cell(args.window, args.x, oy, ox, [&](int64_t wy, int64_t wx, int64_t iy, int64_t ix) {
        if (dx) dx(b, iy, ix, c) += dsum * weight(wy, wx, c);
        if (dweight) dweight(wy, wx, c) += dsum * x(b, iy, ix, c);
      });
    });
  });
}

}  // namespace fovea::reference
