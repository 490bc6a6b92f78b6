// Convolution and pooling of images [B,Y,X,C]. The channels of a pixel are contiguous, so that an image is a matrix of
// pixels for products and for attention.
#include <algorithm>

#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

struct Axis {
  int64_t size, window, stride, pad, extra;
};

int64_t windows_along(std::string_view op, const Axis& a) {
  const int64_t end = a.pad + a.extra;  // the padding after the image
  check(a.window > 0 && a.stride > 0 && a.pad >= 0 && a.pad < a.window && end >= 0 && end < a.window,
        "{}: expected a window and stride above 0 and a padding below the window, got {}, {} and {} to {}", op,
        a.window, a.stride, a.pad, end);
  check(a.size + a.pad + end >= a.window, "{}: expected an image of at least {} with padding {} and {}, got {}", op,
        a.window, a.pad, end, a.size);
  return (a.size + a.pad + end - a.window) / a.stride + 1;
}

Shape output_shape(std::string_view op, const Tensor& x, const Window& w, int64_t channels) {
  return {x.dim(0), windows_along(op, {x.dim(1), w.height, w.stride_y, w.pad_y, w.extra_y}),
          windows_along(op, {x.dim(2), w.width, w.stride_x, w.pad_x, w.extra_x}), channels};
}

// Whether a tape needs the values between a convolution and what follows it.
bool records(std::initializer_list<Var> inputs) { return Tape::current() != nullptr && Tape::any_needs_grad(inputs); }

}  // namespace

Window same_padding(Window window, int64_t height, int64_t width) {
  const auto along = [](int64_t size, int64_t cells, int64_t stride, int64_t& pad, int64_t& extra) {
    check(size > 0 && cells > 0 && stride > 0, "same_padding: expected sizes above 0, got {}, {} and {}", size, cells,
          stride);
    const int64_t windows = (size + stride - 1) / stride;
    const int64_t total = std::max<int64_t>(0, (windows - 1) * stride + cells - size);
    pad = total / 2;
    extra = total % 2;
  };
  along(height, window.height, window.stride_y, window.pad_y, window.extra_y);
  along(width, window.width, window.stride_x, window.pad_x, window.extra_x);
  return window;
}

Var conv2d(const Var& x, const Var& weight, const Var& bias, const Window& window, const ConvOutput& output) {
  Expect("conv2d", "x", x.value()).elements().rank(4);
  Expect("conv2d", "the weight", weight.value()).parameter_of(x.value()).rank(4);
  Expect("conv2d", "the weight", weight.value()).shape({weight.dim(0), window.height, window.width, x.dim(3)});
  if (bias) Expect("conv2d", "the bias", bias.value()).parameter_of(x.value()).shape({weight.dim(0)});
  const Device d = x.device();
  const Tensor y = empty(output_shape("conv2d", x.value(), window, weight.dim(0)), x.dtype(), d);
  if (output.residual) Expect("conv2d", "the residual", output.residual.value()).like(y).shape(y.shape());
  const bool fused = !records({x, weight, bias, output.residual});
  kernels(d).conv2d(stream(d), {.x = x.value(),
                                .weight = weight.value(),
                                .bias = bias.value(),
                                .y = y,
                                .window = window,
                                .residual = fused ? output.residual.value() : Tensor(),
                                .relu = fused && output.relu});
  if (fused) return y;
  Var result = Tape::add_node(y, {x, weight, bias}, [=](const Tensor& dy) {
    kernels(d).conv2d_grad(stream(d), {.x = x.value(),
                                       .weight = weight.value(),
                                       .dy = dy,
                                       .dx = x.grad(),
                                       .dweight = weight.grad(),
                                       .dbias = bias.grad(),
                                       .window = window});
  });
  if (output.residual) result = result + output.residual;
  return output.relu ? relu(result) : result;
}

Var pool2d(PoolOp op, const Var& x, const Window& window) {
  Expect("pool2d", "x", x.value()).elements().rank(4);
  const Device d = x.device();
  const Tensor y = empty(output_shape("pool2d", x.value(), window, x.dim(3)), x.dtype(), d);
  const Tensor index = op == PoolOp::kMaximum ? empty(y.shape(), DType::kI32, d) : Tensor();
  kernels(d).pool2d(stream(d), {.op = op, .x = x.value(), .y = y, .index = index, .window = window});
  return Tape::add_node(y, {x}, [=](const Tensor& dy) {
    kernels(d).pool2d_grad(stream(d), {.op = op, .dy = dy, .index = index, .dx = x.grad(), .window = window});
  });
}

Var depthwise_conv2d(const Var& x, const Var& weight, const Var& bias, const Window& window, bool rectified) {
  Expect("depthwise_conv2d", "x", x.value()).elements().rank(4);
  Expect("depthwise_conv2d", "the weight", weight.value())
      .parameter_of(x.value())
      .shape({window.height, window.width, x.dim(3)});
  if (bias) Expect("depthwise_conv2d", "the bias", bias.value()).parameter_of(x.value()).shape({x.dim(3)});
  const Device d = x.device();
  const Tensor y = empty(output_shape("depthwise_conv2d", x.value(), window, x.dim(3)), x.dtype(), d);
  const bool fused = !records({x, weight, bias});
  kernels(d).depthwise_conv2d(stream(d), {.x = x.value(),
                                          .weight = weight.value(),
                                          .bias = bias.value(),
                                          .y = y,
                                          .window = window,
                                          .relu = fused && rectified});
  if (fused) return y;
  const Var result = Tape::add_node(y, {x, weight, bias}, [=](const Tensor& dy) {
    kernels(d).depthwise_conv2d_grad(stream(d), {.x = x.value(),
                                                 .weight = weight.value(),
                                                 .dy = dy,
                                                 .dx = x.grad(),
                                                 .dweight = weight.grad(),
                                                 .dbias = bias.grad(),
                                                 .window = window});
  });
  return rectified ? relu(result) : result;
}

// The sentences of a batch are the columns of one image whose rows are the time steps.
Var depthwise_conv1d(const Var& x, const Var& weight, const Var& bias, int64_t pad) {
  Expect("depthwise_conv1d", "x", x.value()).elements().rank(3);
  Expect("depthwise_conv1d", "the weight", weight.value()).parameter_of(x.value()).rank(2);
  Expect("depthwise_conv1d", "the weight", weight.value()).shape({weight.dim(0), x.dim(2)});
  const Window window{.height = weight.dim(0), .pad_y = pad};
  const Var image = x.reshape(x.shape().prepended(1));
  return depthwise_conv2d(image, weight.reshape({weight.dim(0), 1, x.dim(2)}), bias, window)[0];
}

}  // namespace fovea
