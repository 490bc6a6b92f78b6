#include "ops/check.h"

#include "kernels/kernels.h"

namespace fovea {

Expect::Expect(std::string_view op, std::string_view what, const Tensor& x) : op_(op), what_(what), x_(x) {
  check(static_cast<bool>(x), "{}: expected {}, got none", op, what);
}

const Expect& Expect::shape(const Shape& shape) const {
  check(x_.shape() == shape, "{}: expected {} of shape {}, got {}", op_, what_, shape, x_.shape());
  return *this;
}

const Expect& Expect::rank(int least, int most) const {
  if (x_.rank() >= least && x_.rank() <= most) return *this;
  if (least == most) fail("{}: expected {} with {} axes, got {}", op_, what_, least, x_.shape());
  fail("{}: expected {} with {} to {} axes, got {}", op_, what_, least, most, x_.shape());
}

const Expect& Expect::dtype(DType dtype) const {
  check(x_.dtype() == dtype, "{}: expected {} of {}, got {}", op_, what_, dtype, x_.dtype());
  return *this;
}

const Expect& Expect::elements() const {
  check(x_.dtype() != DType::kI32, "{}: expected {} of f32, bf16 or f64, got {}", op_, what_, x_.dtype());
  return *this;
}

const Expect& Expect::on(Device device) const {
  check(x_.device() == device, "{}: expected {} on {}, got {}", op_, what_, device, x_.device());
  return *this;
}

const Expect& Expect::like(const Tensor& other) const { return dtype(other.dtype()).on(other.device()); }

const Expect& Expect::parameter_of(const Tensor& x) const { return dtype(accumulator_of(x.dtype())).on(x.device()); }

void expect_lengths(std::string_view op, const Tensor& lengths, int64_t batch, Device device) {
  if (lengths) Expect(op, "lengths", lengths).dtype(DType::kI32).on(device).shape({batch});
}

void expect_mask(std::string_view op, const Mask& mask, const ScoreShape& shape, const Tensor& scores) {
  expect_lengths(op, mask.lengths, shape.batch, scores.device());
  if (!mask.bias) return;
  Expect(op, "a mask bias", mask.bias).parameter_of(scores).rank(4);
  const int64_t full[] = {shape.batch, shape.heads, shape.queries, shape.keys};
  for (int axis = 0; axis < 4; ++axis) {
    const int64_t size = mask.bias.dim(axis);
    check(size == full[axis] || (axis < 3 && size == 1), "{}: expected a mask bias that broadcasts to {}, got {}", op,
          Shape{full[0], full[1], full[2], full[3]}, mask.bias.shape());
  }
}

void expect_heads(std::string_view op, int64_t heads, int64_t depth) {
  check(heads > 0 && depth % heads == 0, "{}: expected a number of heads that divides {}, got {}", op, depth, heads);
}

}  // namespace fovea
