// Convolution of images [B,Y,X,C], defined as cross-correlation, as usual in deep learning.
#include <algorithm>

#include "kernels/reference/functions.h"
#include "kernels/reference/image/image_views.h"

namespace fovea::reference {

void conv2d(Stream&, const Conv2dArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view4<T>(args.x), weight = view4<T>(args.weight), y = view4<T>(args.y);
    const auto residual = view4<T>(args.residual);
    const T* bias = args.bias.data<T>();
    for_each_element(args.y, [&](int64_t b, int64_t oy, int64_t ox, int64_t o) {
      T sum = bias != nullptr ? bias[o] : T(0);
      for_each_cell(args.window, args.x, oy, ox, [&](int64_t wy, int64_t wx, int64_t iy, int64_t ix) {
        for (int64_t c = 0; c < args.x.dim(3); ++c) sum += weight(o, wy, wx, c) * x(b, iy, ix, c);
      });
      if (residual) sum += residual(b, oy, ox, o);
      y(b, oy, ox, o) = args.relu ? std::max(sum, T(0)) : sum;
    });
  });
}

void conv2d_grad(Stream&, const Conv2dGradArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view4<T>(args.x), weight = view4<T>(args.weight), dy = view4<T>(args.dy);
    const auto dx = view4<T>(args.dx), dweight = view4<T>(args.dweight);
    T* dbias = args.dbias.data<T>();
    for_each_element(args.dy, [&](int64_t b, int64_t oy, int64_t ox, int64_t o) {
      const T dsum = dy(b, oy, ox, o);
      if (dbias != nullptr) dbias[o] += dsum;
      for_each_cell(args.window, args.x, oy, ox, [&](int64_t wy, int64_t wx, int64_t iy, int64_t ix) {
        for (int64_t c = 0; c < args.x.dim(3); ++c) {
          if (dx) dx(b, iy, ix, c) += dsum * weight(o, wy, wx, c);
          if (dweight) dweight(o, wy, wx, c) += dsum * x(b, iy, ix, c);
        }
      });
    });
  });
}

}  // namespace fovea::reference
