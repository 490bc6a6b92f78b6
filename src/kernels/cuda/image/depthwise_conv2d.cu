// Depthwise convolution of images [B,Y,X,C] and its gradients.
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/image/image_shape.h"
#include "kernels/cuda/reduce/deterministic_sums.h"
#include "kernels/unfused.h"

namespace fovea::cuda {

namespace {

// The coordinates of an element of an image or of the output.
struct Element {
  int64_t b, y, x, c;
  __device__ Element(int64_t flat, int64_t height, int64_t width, int64_t channels)
      : b(flat / channels / width / height),
        y(flat / channels / width % height),
        x(flat / channels % width),
        c(flat % channels) {}
};

template <class T>
__global__ void depthwise_kernel(const T* x, const float* weight, const float* bias, T* y, int64_t count,
                                 ImageShape shape) {
  const Window& w = shape.window;
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const Element out(k, shape.out_height, shape.out_width, shape.channels);
    float sum = bias != nullptr ? bias[out.c] : 0.0f;
    for (int64_t wy = 0; wy < w.height; ++wy) {
      const int64_t iy = out.y * w.stride_y + wy - w.pad_y;
      if (iy < 0 || iy >= shape.height) continue;
      for (int64_t wx = 0; wx < w.width; ++wx) {
        const int64_t ix = out.x * w.stride_x + wx - w.pad_x;
        if (ix < 0 || ix >= shape.width) continue;
        const float pixel = load(x + ((out.b * shape.height + iy) * shape.width + ix) * shape.channels + out.c);
        sum += pixel * weight[(wy * w.width + wx) * shape.channels + out.c];
      }
    }
    store(y + k, sum);
  }
}

template <class T>
__global__ void depthwise_image_grad_kernel(const T* dy, const float* weight, T* dx, int64_t count, ImageShape shape) {
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const Element in(k, shape.height, shape.width, shape.channels);
    float sum = 0.0f;
    for_each_window(shape, in.y, in.x, [&](int64_t oy, int64_t ox, int64_t wy, int64_t wx) {
      const int64_t from = ((in.b * shape.out_height + oy) * shape.out_width + ox) * shape.channels + in.c;
      sum += load(dy + from) * weight[(wy * shape.window.width + wx) * shape.channels + in.c];
    });
    add(dx + k, sum);
  }
}

// The contribution of output pixel `row` to the gradient of weight element `column`.
template <class T> struct WeightGrads {
  const T *x, *dy;
  ImageShape shape;
  __device__ float operator()(int64_t row, int64_t column) const {
    const int64_t c = column % shape.channels, wx = column / shape.channels % shape.window.width;
    const int64_t wy = column / shape.channels / shape.window.width;
    const int64_t ox = row % shape.out_width, oy = row / shape.out_width % shape.out_height;
    const int64_t b = row / shape.positions();
    const int64_t iy = oy * shape.window.stride_y + wy - shape.window.pad_y;
    const int64_t ix = ox * shape.window.stride_x + wx - shape.window.pad_x;
    if (iy < 0 || iy >= shape.height || ix < 0 || ix >= shape.width) return 0.0f;
    return load(dy + row * shape.channels + c) *
           load(x + ((b * shape.height + iy) * shape.width + ix) * shape.channels + c);
  }
};

template <class T> struct ResultGrads {
  const T* dy;
  int64_t channels;
  __device__ float operator()(int64_t row, int64_t c) const { return load(dy + row * channels + c); }
};

}  // namespace

void depthwise_conv2d(Stream& stream, const DepthwiseConv2dArgs& args) {
  const ImageShape shape(args.x, args.y, args.window);
  with_type_of(args.x, [&]<class T>(T) {
    launch(stream, depthwise_kernel<T>, elements_grid(args.y.size()), args.x.data<T>(), args.weight.data<float>(),
           args.bias.data<float>(), args.y.data<T>(), args.y.size(), shape);
  });
  finish_convolution(cuda_kernels(), stream, args.y, {}, args.relu);
}

void depthwise_conv2d_grad(Stream& stream, const DepthwiseConv2dGradArgs& args) {
  const ImageShape shape(args.x, args.dy, args.window);
  const int64_t pixels = args.x.dim(0) * shape.positions();
  with_type_of(args.x, [&]<class T>(T) {
    const T* dy = args.dy.data<T>();
    if (args.dx) {
      launch(stream, depthwise_image_grad_kernel<T>, elements_grid(args.dx.size()), dy, args.weight.data<float>(),
             args.dx.data<T>(), args.dx.size(), shape);
    }
    if (args.dweight) {
      column_sums(stream, 1, pixels, shape.columns(), WeightGrads<T>{args.x.data<T>(), dy, shape},
                  SumTo<float>{args.dweight.data<float>()});
    }
    if (args.dbias) {
      column_sums(stream, 1, pixels, shape.channels, ResultGrads<T>{dy, shape.channels},
                  SumTo<float>{args.dbias.data<float>()});
    }
  });
}

}  // namespace fovea::cuda
