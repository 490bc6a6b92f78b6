// Convolution of images [B,Y,X,C] as a GEMM over im2col rows of a group of images. In the gradient each element of the
// image sums over the windows that contain it, in a fixed order. The pixels of a 1x1 convolution are its rows already.
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/image/image_shape.h"
#include "kernels/cuda/reduce/deterministic_sums.h"
#include "kernels/unfused.h"

namespace fovea::cuda {

namespace {

// im2col: rows [images*Y'*X', height*width*C], zero where a window extends beyond the image.
template <class T> __global__ void im2col_kernel(const T* x, T* rows, int64_t count, ImageShape shape) {
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

// col2im: adds the gradients of the rows to dx.
template <class T> __global__ void col2im_kernel(const float* drows, T* dx, int64_t count, ImageShape shape) {
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

template <class T> struct OutputGrad {
  const T* dy;
  int64_t channels;
  __device__ float operator()(int64_t row, int64_t o) const { return load(dy + row * channels + o); }
};

// Whether the pixels of the image are the rows of the product.
bool pixels_are_rows(const ImageShape& shape) {
  const Window& w = shape.window;
  return w.height == 1 && w.width == 1 && w.stride_y == 1 && w.stride_x == 1 && w.pad_y == 0 && w.pad_x == 0 &&
         shape.out_height == shape.height && shape.out_width == shape.width;
}

// Returns how many images are processed together, limited by the size of the workspace.
int64_t images_per_group(const ImageShape& shape, int64_t images) {
  if (pixels_are_rows(shape)) return std::max<int64_t>(images, 1);
  constexpr int64_t kMaxElements = int64_t{8} << 20;
  return std::clamp<int64_t>(kMaxElements / std::max<int64_t>(shape.positions() * shape.columns(), 1), 1,
                             std::max<int64_t>(images, 1));
}

// bf16 images are multiplied by a weight rounded to bf16, f32 images in f32.
Precision precision_for(DType elements) { return elements == DType::kBF16 ? Precision::kBF16 : Precision::kF32; }

Factor weight_rows(const Tensor& weight, DType elements, int64_t columns) {
  Factor factor = weight_factor(weight, elements, precision_for(elements));
  factor.row_stride = columns;
  return factor;
}

}  // namespace

void conv2d(Stream& stream, const Conv2dArgs& args) {
  const ImageShape shape(args.x, args.y, args.window);
  const int64_t images = args.x.dim(0), out = args.weight.dim(0), columns = shape.columns();
  const int64_t group = images_per_group(shape, images);
  const bool pixels = pixels_are_rows(shape);
  with_type_of(args.x, [&]<class T>(T) {
    Factor weight = weight_rows(args.weight, args.x.dtype(), columns);
    weight.transposed = true;
    Workspace workspace(stream);
    T* rows = pixels ? nullptr : workspace.allocate<T>(group * shape.positions() * columns);
    for (int64_t b = 0; b < images; b += group) {
      const int64_t count = std::min(group, images - b) * shape.positions();
      const T* image = args.x.data<T>() + b * shape.image();
      if (!pixels) {
        launch(stream, im2col_kernel<T>, elements_grid(count * columns), image, rows, count * columns, shape);
      }
      gemm(stream,
           {.a = {.data = pixels ? image : rows, .dtype = args.x.dtype(), .row_stride = columns},
            .b = weight,
            .c = {.data = args.y.data<T>() + b * shape.positions() * out, .dtype = args.y.dtype(), .row_stride = out},
            .bias = args.bias.data<float>(),
            .m = count,
            .n = out,
            .k = columns,
            .precision = precision_for(args.x.dtype())});
    }
  });
  finish_convolution(cuda_kernels(), stream, args.y, args.residual, args.relu);
}

void conv2d_grad(Stream& stream, const Conv2dGradArgs& args) {
  const ImageShape shape(args.x, args.dy, args.window);
  const int64_t images = args.x.dim(0), out = args.weight.dim(0), columns = shape.columns();
  const int64_t group = images_per_group(shape, images);
  const Precision precision = precision_for(args.x.dtype());
  const bool pixels = pixels_are_rows(shape);
  with_type_of(args.x, [&]<class T>(T) {
    const Factor weight = weight_rows(args.weight, args.x.dtype(), columns);
    Workspace workspace(stream);
    const int64_t elements = pixels ? 0 : group * shape.positions() * columns;
    T* rows = args.dweight && !pixels ? workspace.allocate<T>(elements) : nullptr;
    float* drows = args.dx && !pixels ? workspace.allocate<float>(elements) : nullptr;
    for (int64_t b = 0; b < images; b += group) {
      const int64_t here = std::min(group, images - b), count = here * shape.positions();
      const Factor dy = {
          .data = args.dy.data<T>() + b * shape.positions() * out, .dtype = args.dy.dtype(), .row_stride = out};
      const T* image = args.x.data<T>() + b * shape.image();
      if (args.dx) {
        T* dx = args.dx.data<T>() + b * shape.image();
        Factor to = {.data = drows, .dtype = DType::kF32, .row_stride = columns};
        if (pixels) to = {.data = dx, .dtype = args.dx.dtype(), .row_stride = columns};
        gemm(stream, {.a = dy,
                      .b = weight,
                      .c = to,
                      .m = count,
                      .n = columns,
                      .k = out,
                      .accumulate = pixels,
                      .precision = precision});
        if (!pixels) {
          launch(stream, col2im_kernel<T>, elements_grid(here * shape.image()), drows, dx, here * shape.image(), shape);
        }
      }
      if (args.dweight) {
        if (!pixels) {
          launch(stream, im2col_kernel<T>, elements_grid(count * columns), image, rows, count * columns, shape);
        }
        Factor transposed = dy;
        transposed.transposed = true;
        gemm(stream, {.a = transposed,
                      .b = {.data = pixels ? image : rows, .dtype = args.x.dtype(), .row_stride = columns},
                      .c = {.data = args.dweight.raw(), .dtype = DType::kF32, .row_stride = columns},
                      .m = out,
                      .n = columns,
                      .k = count,
                      .accumulate = true,
                      .precision = precision});
      }
    }
    if (args.dbias) {
      column_sums(stream, 1, images * shape.positions(), out, OutputGrad<T>{args.dy.data<T>(), out},
                  SumTo<float>{args.dbias.data<float>()});
    }
  });
}

}  // namespace fovea::cuda
