// y = x weight^T + bias, with one weight or several at once.  dx = dy weight; the gradients d weight = dy^T x and
// d bias = sum of dy are deferred.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {
thread_local Precision current_precision = Precision::kF32;
}

Precision product_precision() {
  const bool records = Tape::current() != nullptr;
  return current_precision == Precision::kInt8 && records ? Precision::kBF16 : current_precision;
}
DType activation_type(const Tensor& parameter) {
  const bool narrow = !parameter.device().on_host() && product_precision() != Precision::kF32;
  return narrow && parameter.dtype() == DType::kF32 ? DType::kBF16 : parameter.dtype();
}
PrecisionScope::PrecisionScope(Precision precision) : before_(current_precision) { current_precision = precision; }
PrecisionScope::~PrecisionScope() { current_precision = before_; }

namespace {

// `several` weights are stored one after the other, and so are their results.
void linear_grad(const Var& x, const Var& weight, const Var& bias, const Tensor& dy, Precision precision,
                 int64_t several = 1) {
  const int64_t in = weight.dim(1), out = weight.dim(0) / several, rows = x.shape().count(0, x.rank() - 1);
  const Device d = x.device();
  for (int64_t i = 0; x.needs_grad() && i < several; ++i) {
    const auto [dx, accumulate] = x.grad_slot();
    kernels(d).matmul(stream(d),
                      {.a = {.tensor = dy, .row_stride = out, .offset = i * rows * out},
                       .b = {.tensor = weight.value(), .row_stride = in, .offset = i * out * in, .weight = true},
                       .c = {.tensor = dx, .row_stride = in},
                       .m = rows,
                       .n = in,
                       .k = out,
                       .accumulate = accumulate,
                       .precision = precision});
  }
  const bool defers_bias = weight.needs_grad() && bias.needs_grad() && bias.gradient()->leaf;
  if (weight.needs_grad()) {
    Tape::current()->defer_product(weight,
                                   {.x = x.value().reshape({rows, in}),
                                    .dy = dy.reshape(several == 1 ? Shape{rows, out} : Shape{several, rows, out}),
                                    .bias = defers_bias ? bias.gradient() : nullptr,
                                    .precision = precision});
  }
  if (bias.needs_grad() && !defers_bias) {
    kernels(d).reduce(stream(d), {.op = ReduceOp::kSum,
                                  .x = dy,
                                  .y = bias.grad(),
                                  .outer = several,
                                  .count = rows,
                                  .inner = out,
                                  .accumulate = true});
  }
}

}  // namespace

Var linear(const Var& x, const Var& weight, const Var& bias) {
  Expect("linear", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  Expect("linear", "the weight", weight.value()).rank(2).parameter_of(x.value());
  const int64_t in = weight.dim(1), out = weight.dim(0);
  check(x.dim(-1) == in, "linear: expected x with {} columns for the weight {}, got {}", in, weight.shape(), x.shape());
  if (bias) Expect("linear", "the bias", bias.value()).parameter_of(x.value()).shape({out});

  const int64_t rows = x.shape().count(0, x.rank() - 1);
  const Device d = x.device();
  const Precision precision = product_precision();
  const Tensor y = empty(x.shape().with(-1, out), x.dtype(), d);
  kernels(d).matmul(stream(d), {.a = {.tensor = x.value(), .row_stride = in},
                                .b = {.tensor = weight.value(), .row_stride = in, .transposed = true, .weight = true},
                                .c = {.tensor = y, .row_stride = out},
                                .bias = bias.value(),
                                .m = rows,
                                .n = out,
                                .k = in,
                                .precision = precision});
  return Tape::add_node(y, {x, weight, bias}, [=](const Tensor& dy) { linear_grad(x, weight, bias, dy, precision); });
}

Var stacked_linear(const Var& x, const Var& weights, const Var& biases, int64_t several) {
  Expect("stacked_linear", "x", x.value()).elements().rank(1, Shape::kMaxRank - 1);
  Expect("stacked_linear", "the weights", weights.value()).rank(2).parameter_of(x.value());
  const int64_t in = weights.dim(1), out = weights.dim(0) / several;
  check(x.dim(-1) == in && out * several == weights.dim(0),
        "stacked_linear: expected {} concatenated weights of {} columns, got {}", several, x.dim(-1), weights.shape());
  if (biases) Expect("stacked_linear", "the biases", biases.value()).parameter_of(x.value()).shape({several * out});

  const int64_t rows = x.shape().count(0, x.rank() - 1);
  const Device d = x.device();
  const Precision precision = product_precision();
  const Tensor y = empty(x.shape().with(-1, out).prepended(several), x.dtype(), d);
  kernels(d).matmul(
      stream(d),
      {.a = {.tensor = x.value(), .row_stride = in},
       .b = {.tensor = weights.value(), .row_stride = in, .batch_stride = out * in, .transposed = true, .weight = true},
       .c = {.tensor = y, .row_stride = out, .batch_stride = rows * out},
       .bias = biases.value(),
       .m = rows,
       .n = out,
       .k = in,
       .batch = several,
       .precision = precision});
  return Tape::add_node(y, {x, weights, biases},
                        [=](const Tensor& dy) { linear_grad(x, weights, biases, dy, precision, several); });
}

void add_linear(const Var& y, const Var& x, const Var& weight) {
  Expect("add_linear", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  Expect("add_linear", "the weight", weight.value()).parameter_of(x.value()).shape({y.dim(-1), x.dim(-1)});
  Expect("add_linear", "y", y.value()).like(x.value()).shape(x.shape().with(-1, weight.dim(0)));
  const Device d = x.device();
  const Precision precision = product_precision();
  const int64_t in = weight.dim(1), out = weight.dim(0);
  kernels(d).matmul(stream(d), {.a = {.tensor = x.value(), .row_stride = in},
                                .b = {.tensor = weight.value(), .row_stride = in, .transposed = true, .weight = true},
                                .c = {.tensor = y.value(), .row_stride = out},
                                .m = x.shape().count(0, x.rank() - 1),
                                .n = out,
                                .k = in,
                                .accumulate = true,
                                .precision = precision});
  Tape::add_in_place_node(y, {x, weight}, [=](const Tensor& dy) { linear_grad(x, weight, {}, dy, precision); });
}

}  // namespace fovea
