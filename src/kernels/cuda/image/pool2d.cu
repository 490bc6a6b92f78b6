// Pooling of images [B,Y,X,C]. In the gradient each element of the image sums over the windows that contain it, in a
// fixed order.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/image/image_shape.h"

namespace fovea::cuda {

namespace {

template <class T>
__global__ void pool_kernel(const T* x, T* y, int32_t* index, int64_t count, ImageShape shape, bool average) {
  const Window& w = shape.window;
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const int64_t c = k % shape.channels, ox = k / shape.channels % shape.out_width;
    const int64_t oy = k / shape.channels / shape.out_width % shape.out_height;
    const int64_t b = k / shape.channels / shape.out_width / shape.out_height;
    float sum = 0.0f, largest = -kInfinity;
    int64_t inside = 0, where = -1;
    for (int64_t wy = 0; wy < w.height; ++wy) {
      for (int64_t wx = 0; wx < w.width; ++wx) {
        const int64_t iy = oy * w.stride_y + wy - w.pad_y, ix = ox * w.stride_x + wx - w.pad_x;
        if (iy < 0 || iy >= shape.height || ix < 0 || ix >= shape.width) continue;
        const int64_t at = ((b * shape.height + iy) * shape.width + ix) * shape.channels + c;
        const float value = load(x + at);
        sum += value;
        ++inside;
        if (where >= 0 && value <= largest) continue;
        largest = value;
        where = at;
      }
    }
    if (average) {
      store(y + k, inside > 0 ? sum / static_cast<float>(inside) : 0.0f);
    } else {
      store(y + k, largest);
      if (index != nullptr) index[k] = static_cast<int32_t>(where);
    }
  }
}

// Returns how many positions of a window are inside the image along one axis.
__device__ int64_t cells_inside(int64_t place, int64_t stride, int64_t pad, int64_t window, int64_t size) {
  const int64_t begin = place * stride - pad, end = begin + window;
  return (end < size ? end : size) - (begin > 0 ? begin : 0);
}

template <class T>
__global__ void pool_grad_kernel(const T* dy, const int32_t* index, T* dx, int64_t count, ImageShape shape) {
  const Window& w = shape.window;
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const int64_t c = k % shape.channels, x = k / shape.channels % shape.width;
    const int64_t y = k / shape.channels / shape.width % shape.height, b = k / shape.image();
    float sum = 0.0f;
    for_each_window(shape, y, x, [&](int64_t oy, int64_t ox, int64_t, int64_t) {
      const int64_t from = ((b * shape.out_height + oy) * shape.out_width + ox) * shape.channels + c;
      if (index != nullptr) {
        if (index[from] == k) sum += load(dy + from);
        return;
      }
      const int64_t cells = cells_inside(oy, w.stride_y, w.pad_y, w.height, shape.height) *
                            cells_inside(ox, w.stride_x, w.pad_x, w.width, shape.width);
      sum += load(dy + from) / static_cast<float>(cells);
    });
    add(dx + k, sum);
  }
}

}  // namespace

void pool2d(Stream& stream, const Pool2dArgs& args) {
  const ImageShape shape(args.x, args.y, args.window);
  with_type_of(args.x, [&]<class T>(T) {
    launch(stream, pool_kernel<T>, elements_grid(args.y.size()), args.x.data<T>(), args.y.data<T>(),
           args.index.data<int32_t>(), args.y.size(), shape, args.op == PoolOp::kAverage);
  });
}

void pool2d_grad(Stream& stream, const Pool2dGradArgs& args) {
  if (!args.dx) return;
  const ImageShape shape(args.dx, args.dy, args.window);
  with_type_of(args.dy, [&]<class T>(T) {
    const int32_t* index = args.op == PoolOp::kMaximum ? args.index.data<int32_t>() : nullptr;
    launch(stream, pool_grad_kernel<T>, elements_grid(args.dx.size()), args.dy.data<T>(), index, args.dx.data<T>(),
           args.dx.size(), shape);
  });
}

}  // namespace fovea::cuda
