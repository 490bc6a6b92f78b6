// Images, [B,Y,X,C]: convolution as products with the windows of some images written out as rows, and pooling.
// Gradients of an image are gathered by each of its elements from the windows it lies in, in their order.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/sums.h"

namespace fovea::cuda {

namespace {

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

// Calls body(oy, ox, wy, wx) for each window that holds (y, x), by its place and by that inside it.
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

// ---- convolution -------------------------------------------------------------------------------

// rows [images*Y'*X', height*width*C], zero where a window lies outside.
template <class T> __global__ void windows_kernel(const T* x, T* rows, int64_t count, ImageShape shape) {
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const int64_t columns = shape.columns(), column = k % columns, row = k / columns;
    const int64_t c = column % shape.channels, wx = column / shape.channels % shape.window.width;
    const int64_t wy = column / shape.channels / shape.window.width;
    const int64_t ox = row % shape.out_width, oy = row / shape.out_width % shape.out_height;
    const int64_t b = row / shape.out_width / shape.out_height;
    const int64_t iy = oy * shape.window.stride_y + wy - shape.window.pad_y;
    const int64_t ix = ox * shape.window.stride_x + wx - shape.window.pad_x;
    const bool inside = 0 <= iy && iy < shape.height && 0 <= ix && ix < shape.width;
    rows[k] = inside ? x[((b * shape.height + iy) * shape.width + ix) * shape.channels + c] : T(0.0f);
  }
}

// dx += what the rows' gradients say.
template <class T> __global__ void windows_grad_kernel(const float* drows, T* dx, int64_t count, ImageShape shape) {
  for (int64_t k = first_element(); k < count; k += element_stride()) {
    const int64_t c = k % shape.channels, x = k / shape.channels % shape.width;
    const int64_t y = k / shape.channels / shape.width % shape.height, b = k / shape.image();
    float sum = 0.0f;
    for_each_window(shape, y, x, [&](int64_t oy, int64_t ox, int64_t wy, int64_t wx) {
      const int64_t row = (b * shape.out_height + oy) * shape.out_width + ox;
      sum += drows[row * shape.columns() + (wy * shape.window.width + wx) * shape.channels + c];
    });
    add(dx + k, sum);
  }
}

template <class T> struct OfResult {
  const T* dy;
  int64_t channels;
  __device__ float operator()(int64_t row, int64_t o) const { return load(dy + row * channels + o); }
};

// How many images are worked on together, so that their rows fit into some working memory.
int64_t images_at_once(const ImageShape& shape, int64_t images) {
  constexpr int64_t kMost = int64_t{8} << 20;  // elements
  return std::clamp<int64_t>(kMost / std::max<int64_t>(shape.positions() * shape.columns(), 1), 1,
                             std::max<int64_t>(images, 1));
}

// bf16 images meet a weight rounded to bf16; f32 ones are multiplied in f32.
Precision precision_for(DType elements) { return elements == DType::kBF16 ? Precision::kBF16 : Precision::kF32; }

Factor weight_rows(const Tensor& weight, DType elements, int64_t columns) {
  Factor made = weight_factor(weight, elements, precision_for(elements));
  made.row_stride = columns;
  return made;
}

// ---- pooling -----------------------------------------------------------------------------------

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

// How many cells of an axis a window has inside the image.
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

void conv2d(Stream& stream, const Conv2dArgs& args) {
  const ImageShape shape(args.x, args.y, args.window);
  const int64_t images = args.x.dim(0), out = args.weight.dim(0), columns = shape.columns();
  const int64_t some = images_at_once(shape, images);
  with_type_of(args.x, [&]<class T>(T) {
    Factor weight = weight_rows(args.weight, args.x.dtype(), columns);
    weight.transposed = true;
    Scratch scratch(stream);
    T* rows = scratch.take<T>(some * shape.positions() * columns);
    for (int64_t b = 0; b < images; b += some) {
      const int64_t count = std::min(some, images - b) * shape.positions();
      launch(stream, windows_kernel<T>, elements_grid(count * columns), args.x.data<T>() + b * shape.image(), rows,
             count * columns, shape);
      multiply(
          stream,
          {.a = {.data = rows, .dtype = args.x.dtype(), .row_stride = columns},
           .b = weight,
           .c = {.data = args.y.data<T>() + b * shape.positions() * out, .dtype = args.y.dtype(), .row_stride = out},
           .bias = args.bias.data<float>(),
           .m = count,
           .n = out,
           .k = columns,
           .precision = precision_for(args.x.dtype())});
    }
  });
}

void conv2d_grad(Stream& stream, const Conv2dGradArgs& args) {
  const ImageShape shape(args.x, args.dy, args.window);
  const int64_t images = args.x.dim(0), out = args.weight.dim(0), columns = shape.columns();
  const int64_t some = images_at_once(shape, images);
  const Precision precision = precision_for(args.x.dtype());
  with_type_of(args.x, [&]<class T>(T) {
    const Factor weight = weight_rows(args.weight, args.x.dtype(), columns);
    Scratch scratch(stream);
    T* rows = args.dweight ? scratch.take<T>(some * shape.positions() * columns) : nullptr;
    float* drows = args.dx ? scratch.take<float>(some * shape.positions() * columns) : nullptr;
    for (int64_t b = 0; b < images; b += some) {
      const int64_t here = std::min(some, images - b), count = here * shape.positions();
      const Factor dy = {
          .data = args.dy.data<T>() + b * shape.positions() * out, .dtype = args.dy.dtype(), .row_stride = out};
      if (args.dx) {
        multiply(stream, {.a = dy,
                          .b = weight,
                          .c = {.data = drows, .dtype = DType::kF32, .row_stride = columns},
                          .m = count,
                          .n = columns,
                          .k = out,
                          .precision = precision});
        launch(stream, windows_grad_kernel<T>, elements_grid(here * shape.image()), drows,
               args.dx.data<T>() + b * shape.image(), here * shape.image(), shape);
      }
      if (args.dweight) {
        launch(stream, windows_kernel<T>, elements_grid(count * columns), args.x.data<T>() + b * shape.image(), rows,
               count * columns, shape);
        Factor transposed = dy;
        transposed.transposed = true;
        multiply(stream, {.a = transposed,
                          .b = {.data = rows, .dtype = args.x.dtype(), .row_stride = columns},
                          .c = {.data = args.dweight.raw(), .dtype = DType::kF32, .row_stride = columns},
                          .m = out,
                          .n = columns,
                          .k = count,
                          .accumulate = true,
                          .precision = precision});
      }
    }
    if (args.dbias) {
      column_sums(stream, 1, images * shape.positions(), out, OfResult<T>{args.dy.data<T>(), out},
                  SumTo<float>{args.dbias.data<float>()});
    }
  });
}

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
