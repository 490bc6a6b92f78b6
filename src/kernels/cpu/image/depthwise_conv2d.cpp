// Depthwise convolution of images [B,Y,X,C] and its gradients, with SIMD over the channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/image/depthwise_conv2d.cpp"
#include <span>

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// One term of a convolution: the first channel of a pixel and of a filter element.
struct Tap {
  int64_t pixel, cell;
};
using Taps = std::span<const Tap>;

// Finds the taps of one pixel, in a workspace of the thread.
class TapFinder {
 public:
  TapFinder(const Window& window, const Tensor& from, const Tensor& to)
      : window_(window), height_(from.dim(1)), width_(from.dim(2)), channels_(from.dim(3)), rows_(to.dim(1)) {}

  // Returns the pixels that the window of output pixel (row, x) covers; `row` counts the rows of all images.
  Taps forward(int64_t row, int64_t x) const {
    const int64_t first_y = row % rows_ * window_.stride_y - window_.pad_y,
                  first_x = x * window_.stride_x - window_.pad_x;
    return find(
        row, [=](int64_t wy) { return first_y + wy; }, [=](int64_t wx) { return first_x + wx; });
  }
  // Returns the output pixels whose windows cover input pixel (row, x).
  Taps backward(int64_t row, int64_t x) const {
    const auto output = [](int64_t place, int64_t stride) { return place % stride == 0 ? place / stride : -1; };
    const int64_t last_y = row % rows_ + window_.pad_y, last_x = x + window_.pad_x;
    return find(
        row, [=, this](int64_t wy) { return output(last_y - wy, window_.stride_y); },
        [=, this](int64_t wx) { return output(last_x - wx, window_.stride_x); });
  }

 private:
  // y_of and x_of return the pixel that belongs to a filter element.
  template <class Y, class X> Taps find(int64_t row, Y y_of, X x_of) const {
    Tap* taps = workspace<Tap, struct DepthwiseTaps>(static_cast<size_t>(window_.height * window_.width));
    size_t count = 0;
    for (int64_t wy = 0; wy < window_.height; ++wy) {
      const int64_t y = y_of(wy);
      if (y < 0 || y >= height_) continue;
      for (int64_t wx = 0; wx < window_.width; ++wx) {
        const int64_t x = x_of(wx);
        if (x < 0 || x >= width_) continue;
        taps[count++] = {((row / rows_ * height_ + y) * width_ + x) * channels_, (wy * window_.width + wx) * channels_};
      }
    }
    return {taps, count};
  }

  Window window_;
  int64_t height_, width_, channels_;  // of the image whose pixels are returned
  int64_t rows_;                       // rows of an image of the given pixels
};

// Calls body(row, x, first element) for each pixel of an image, on all threads.
template <class Body> void each_pixel(const Tensor& image, const Window& window, Body&& body) {
  const int64_t width = image.dim(2), channels = image.dim(3);
  each_row(image.dim(0) * image.dim(1), width * channels * window.height * window.width, [&](int64_t row) {
    for (int64_t x = 0; x < width; ++x) body(row, x, (row * width + x) * channels);
  });
}

// Returns the sum of from[pixel] * weight[element] over the taps, for one register of channels.
template <class T, class Lanes>
HWY_INLINE Floats convolve(Taps taps, const T* from, const float* weight, Floats start, Lanes lanes) {
  for (const Tap& tap : taps) start = mul_add(load(from + tap.pixel, lanes), load(weight + tap.cell, lanes), start);
  return start;
}

void depthwise_conv2d(const DepthwiseConv2dArgs& args) {
  const TapFinder finder(args.window, args.x, args.y);
  const float *weight = args.weight.data<float>(), *bias = args.bias.data<float>();
  with_type_of(args.x, [&]<class T>(T) {
    const T* x = args.x.data<T>();
    each_pixel(args.y, args.window, [&](int64_t row, int64_t ox, int64_t first) {
      const Taps taps = finder.forward(row, ox);
      T* y = args.y.data<T>() + first;
      each_register(args.y.dim(3), [&](int64_t c, auto lanes) {
        const Floats start = bias ? load(bias + c, lanes) : Floats(0);
        const Floats sum = convolve(taps, x + c, weight + c, start, lanes);
        store(args.relu ? maximum(sum, Floats(0)) : sum, y + c, lanes);
      });
    });
  });
}

template <class T> void add_image_grad(const DepthwiseConv2dGradArgs& args) {
  const TapFinder finder(args.window, args.dy, args.dx);
  const float* weight = args.weight.data<float>();
  const T* dy = args.dy.data<T>();
  each_pixel(args.dx, args.window, [&](int64_t row, int64_t x, int64_t first) {
    const Taps taps = finder.backward(row, x);
    T* dx = args.dx.data<T>() + first;
    each_register(args.dx.dim(3), [&](int64_t c, auto lanes) {
      const Floats sum = convolve(taps, dy + c, weight + c, Floats(0), lanes);
      store(load(dx + c, lanes) + sum, dx + c, lanes);
    });
  });
}

// Rows of pixels are summed in chunks whose number depends on the sizes alone, and the chunks are added in order.
template <class T> void add_parameter_grads(const DepthwiseConv2dGradArgs& args) {
  constexpr int64_t kMaxChunks = 64;
  const int64_t rows = args.dy.dim(0) * args.dy.dim(1), width = args.dy.dim(2), channels = args.dy.dim(3);
  const int64_t per_chunk = std::max<int64_t>(1, divide_up(rows, kMaxChunks)), chunks = divide_up(rows, per_chunk);
  const int64_t cells = args.window.height * args.window.width * channels, piece = cells + channels;
  float* pieces = workspace<float, struct DepthwisePieces>(static_cast<size_t>(chunks * piece));
  const TapFinder finder(args.window, args.x, args.dy);
  each_row(chunks, per_chunk * width * cells, [&](int64_t chunk) {
    float *dweight = pieces + chunk * piece, *dbias = dweight + cells;
    std::fill_n(dweight, piece, 0.0f);
    for (int64_t row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row)
      for (int64_t ox = 0; ox < width; ++ox) {
        const Taps taps = finder.forward(row, ox);
        each_register(channels, [&](int64_t c, auto lanes) {
          const Floats d = load(args.dy.data<T>() + (row * width + ox) * channels + c, lanes);
          store(load(dbias + c, lanes) + d, dbias + c, lanes);
          for (const Tap& tap : taps) {
            float* to = dweight + tap.cell + c;
            store(mul_add(d, load(args.x.data<T>() + tap.pixel + c, lanes), load(to, lanes)), to, lanes);
          }
        });
      }
  });
  const auto add_pieces = [&](const Tensor& to, int64_t first) {
    if (!to) return;
    float* gradient = to.data<float>();
    each_block(1, to.size(), [&](int64_t, int64_t begin, int64_t end) {
      each_register(begin, end, [&](int64_t i, auto lanes) {
        Floats total(0);
        for (int64_t c = 0; c < chunks; ++c) total += load(pieces + c * piece + first + i, lanes);
        store(load(gradient + i, lanes) + total, gradient + i, lanes);
      });
    });
  };
  add_pieces(args.dweight, 0);
  add_pieces(args.dbias, cells);
}

void depthwise_conv2d_grad(const DepthwiseConv2dGradArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    if (args.dx) add_image_grad<T>(args);
    if (args.dweight || args.dbias) add_parameter_grads<T>(args);
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(depthwise_conv2d, DepthwiseConv2dArgs)
FOVEA_DISPATCH(depthwise_conv2d_grad, DepthwiseConv2dGradArgs)
}  // namespace fovea::cpu
#endif
