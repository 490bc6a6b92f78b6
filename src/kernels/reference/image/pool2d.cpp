// Pooling of images [B,Y,X,C].
#include "kernels/reference/functions.h"
#include "kernels/reference/image/image_views.h"

namespace fovea::reference {

void pool2d(Stream&, const Pool2dArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view4<T>(args.x), y = view4<T>(args.y);
    const auto index = view4<int32_t>(args.index);
    for_each_element(args.y, [&](int64_t b, int64_t oy, int64_t ox, int64_t c) {
      T sum = 0, count = 0, largest = -kInfinity<T>;
      int64_t where = -1;
      for_each_cell(args.window, args.x, oy, ox, [&](int64_t, int64_t, int64_t iy, int64_t ix) {
        const T value = x(b, iy, ix, c);
        sum += value;
        count += 1;
        if (where >= 0 && value <= largest) return;
        largest = value;
        where = &x(b, iy, ix, c) - x.data;
      });
      if (args.op == PoolOp::kAverage) {
        y(b, oy, ox, c) = count > 0 ? sum / count : T(0);
      } else {
        y(b, oy, ox, c) = largest;
        if (index) index(b, oy, ox, c) = static_cast<int32_t>(where);
      }
    });
  });
}

void pool2d_grad(Stream&, const Pool2dGradArgs& args) {
  if (!args.dx) return;
  with_type_of(args.dy, [&]<class T>(T) {
    const auto dx = view4<T>(args.dx), dy = view4<T>(args.dy);
    const auto index = view4<int32_t>(args.index);
    for_each_element(args.dy, [&](int64_t b, int64_t oy, int64_t ox, int64_t c) {
      if (args.op == PoolOp::kMaximum) {
        if (const int32_t where = index(b, oy, ox, c); where >= 0) dx.data[where] += dy(b, oy, ox, c);
        return;
      }
      T count = 0;
      for_each_cell(args.window, args.dx, oy, ox, [&](int64_t, int64_t, int64_t, int64_t) { count += 1; });
      for_each_cell(args.window, args.dx, oy, ox,
                    [&](int64_t, int64_t, int64_t iy, int64_t ix) { dx(b, iy, ix, c) += dy(b, oy, ox, c) / count; });
    });
  });
}

}  // namespace fovea::reference
