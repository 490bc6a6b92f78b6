// Pooling of images [B,Y,X,C], with SIMD over the channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/image/pool2d.cpp"
#include <cmath>

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// The pixels of one output's window that are inside image b.
struct Cells {
  int64_t top, bottom, left, right;
  int64_t pitch, channels, image;  // elements of a row and of a pixel; first element of the image

  Cells(const Window& window, const Tensor& x, int64_t b, int64_t oy, int64_t ox) {
    const int64_t height = x.dim(1), width = x.dim(2);
    const int64_t first_y = oy * window.stride_y - window.pad_y, first_x = ox * window.stride_x - window.pad_x;
    top = std::max<int64_t>(0, first_y), bottom = std::min(height, first_y + window.height);
    left = std::max<int64_t>(0, first_x), right = std::min(width, first_x + window.width);
    channels = x.dim(3), pitch = width * channels, image = b * height * pitch;
  }
  int64_t count() const { return std::max<int64_t>(0, bottom - top) * std::max<int64_t>(0, right - left); }
  // Calls body(first element of the pixel) for each pixel.
  template <class Body> HWY_INLINE void each(Body&& body) const {
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x) body(image + y * pitch + x * channels);
  }
};

// Computes one output pixel of C channels.
template <class T> void largest_of(const Pool2dArgs& args, const Cells& cells, int64_t out) {
  const T* x = args.x.data<T>();
  T* y = args.y.data<T>() + out;
  int32_t* index = args.index ? args.index.data<int32_t>() + out : nullptr;
  each_register(cells.channels, [&](int64_t c, auto lanes) {
    Floats most(-HUGE_VALF);
    Ints where = hn::Set(IntTag(), -1);
    cells.each([&](int64_t cell) {
      const Floats v = load(x + cell + c, lanes);
      const auto none = hn::RebindMask(FloatTag(), hn::Eq(where, hn::Set(IntTag(), -1)));
      const auto taken = hn::Or(none, hn::Gt(v.v, most.v));
      most = hn::IfThenElse(taken, v.v, most.v);
      const Ints here = hn::Iota(IntTag(), static_cast<int32_t>(cell + c));
      where = hn::IfThenElse(hn::RebindMask(IntTag(), taken), here, where);
    });
    store(most, y + c, lanes);
    if (index) store(where, index + c, lanes);
  });
}

template <class T> void average_of(const Pool2dArgs& args, const Cells& cells, int64_t out) {
  const T* x = args.x.data<T>();
  const Floats scale(1.0f / static_cast<float>(std::max<int64_t>(1, cells.count())));
  each_register(cells.channels, [&](int64_t c, auto lanes) {
    Floats total(0);
    cells.each([&](int64_t cell) { total += load(x + cell + c, lanes); });
    store(total * scale, args.y.data<T>() + out + c, lanes);
  });
}

void pool2d(const Pool2dArgs& args) {
  const int64_t height = args.y.dim(1), width = args.y.dim(2), channels = args.y.dim(3);
  const int64_t work = width * channels * args.window.height * args.window.width;
  with_type_of(args.x, [&]<class T>(T) {
    each_row(args.y.dim(0) * height, work, [&](int64_t row) {
      for (int64_t ox = 0; ox < width; ++ox) {
        const Cells cells(args.window, args.x, row / height, row % height, ox);
        const auto pool = args.op == PoolOp::kMaximum ? largest_of<T> : average_of<T>;
        pool(args, cells, (row * width + ox) * channels);
      }
    });
  });
}

// Computes channels [begin, end) of one output pixel.
template <class T> void add_to_largest(const Pool2dGradArgs& args, int64_t out, int64_t begin, int64_t end) {
  const T* dy = args.dy.data<T>() + out;
  const int32_t* index = args.index.data<int32_t>() + out;
  T* dx = args.dx.data<T>();
  for (int64_t c = begin; c < end; ++c) {
    if (index[c] < 0) continue;
    T& to = dx[index[c]];
    to = T(static_cast<float>(to) + static_cast<float>(dy[c]));
  }
}

template <class T>
void add_to_all(const Pool2dGradArgs& args, const Cells& cells, int64_t out, int64_t begin, int64_t end) {
  const T* dy = args.dy.data<T>() + out;
  T* dx = args.dx.data<T>();
  const Floats scale(1.0f / static_cast<float>(std::max<int64_t>(1, cells.count())));
  each_register(begin, end, [&](int64_t c, auto lanes) {
    const Floats d = load(dy + c, lanes) * scale;
    cells.each([&](int64_t cell) { store(load(dx + cell + c, lanes) + d, dx + cell + c, lanes); });
  });
}

// Windows overlap, so threads divide the images and, if there are few, their channels, but not the pixels.
void pool2d_grad(const Pool2dGradArgs& args) {
  if (!args.dx) return;
  const int64_t height = args.dy.dim(1), width = args.dy.dim(2), channels = args.dy.dim(3);
  const int64_t some = args.dy.dim(0) >= thread_count() ? std::max<int64_t>(1, channels) : 16;
  const int64_t across = divide_up(channels, some);
  with_type_of(args.dy, [&]<class T>(T) {
    each_row(args.dy.dim(0) * across, height * width * some, [&](int64_t unit) {
      const int64_t b = unit / across, begin = unit % across * some, end = std::min(channels, begin + some);
      for (int64_t oy = 0; oy < height; ++oy)
        for (int64_t ox = 0; ox < width; ++ox) {
          const int64_t out = ((b * height + oy) * width + ox) * channels;
          if (args.op == PoolOp::kMaximum) {
            add_to_largest<T>(args, out, begin, end);
          } else {
            add_to_all<T>(args, Cells(args.window, args.dx, b, oy, ox), out, begin, end);
          }
        }
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(pool2d, Pool2dArgs)
FOVEA_DISPATCH(pool2d_grad, Pool2dGradArgs)
}  // namespace fovea::cpu
#endif
