#include "autograd/var.h"

#include "autograd/tape.h"

namespace fovea {

Tensor Gradient::tensor() {
  if (whole != nullptr) {
    const Tensor all = whole->tensor();
    return all.reshape({all.size()}).slice(offset, offset + shape.count()).reshape(shape);
  }
  if (on_side_stream && Tape::current() != nullptr) Tape::current()->join_side_stream();
  if (!sum) sum = zeros(shape, dtype, device);
  return sum;
}

Gradient::Slot Gradient::slot() {
  if (whole != nullptr || sum) return {tensor(), true};
  sum = empty(shape, dtype, device);
  return {sum, false};
}

Var Var::part(Tensor value, int64_t offset) const {
  if (gradient_ == nullptr || Tape::current() == nullptr) return Var(std::move(value));
  return Tape::current()->part(std::move(value), gradient_, offset);
}

Var Var::reshape(const Shape& shape) const { return part(value_.reshape(shape), 0); }

Var Var::slice(int64_t begin, int64_t end) const {
  return part(value_.slice(begin, end), begin * shape().count(1, rank()));
}

Var Var::operator[](int64_t index) const { return part(value_[index], index * shape().count(1, rank())); }

}  // namespace fovea
