// Images, [B,Y,X,C]: convolution (as a cross-correlation, as everywhere in this field) and pooling.
#include "kernels/reference/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Calls body(wy, wx, iy, ix) for each cell of the window at output (oy, ox) that lies inside the image
// [.., height, width, ..]: its place in the window, and in the image.
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

}  // namespace

void conv2d(Stream&, const Conv2dArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = view4<T>(args.x), weight = view4<T>(args.weight), y = view4<T>(args.y);
    const T* bias = args.bias.data<T>();
    for_each_element(args.y, [&](int64_t b, int64_t oy, int64_t ox, int64_t o) {
      T sum = bias != nullptr ? bias[o] : T(0);
      for_each_cell(args.window, args.x, oy, ox, [&](int64_t wy, int64_t wx, int64_t iy, int64_t ix) {
        for (int64_t c = 0; c < args.x.dim(3); ++c) sum += weight(o, wy, wx, c) * x(b, iy, ix, c);
      });
      y(b, oy, ox, o) = sum;
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
