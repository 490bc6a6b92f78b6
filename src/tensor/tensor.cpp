#include "tensor/tensor.h"

#include "tensor/arena.h"

namespace fovea {

Tensor Tensor::reshape(const Shape& shape) const {
  check(shape.count() == size(), "reshape: expected a shape of {} elements like {}, got {}", size(), shape_, shape);
  Tensor x = *this;
  x.shape_ = shape;
  return x;
}

Tensor Tensor::slice(int64_t begin, int64_t end) const {
  check(rank() > 0, "slice: expected at least one axis, got {}", shape_);
  check(0 <= begin && begin <= end && end <= dim(0), "slice: expected a range within 0..{}, got {}..{}", dim(0), begin,
        end);
  Tensor x = *this;
  x.shape_ = shape_.with(0, end - begin);
  x.data_ += static_cast<size_t>(begin * shape_.count(1, rank())) * size_of(dtype_);
  return x;
}

Tensor Tensor::operator[](int64_t index) const {
  Tensor x = slice(index, index + 1);
  x.shape_ = shape_.without(0);
  return x;
}

Tensor empty(const Shape& shape, DType dtype, Device device) {
  Tensor x;
  x.shape_ = shape;
  x.dtype_ = dtype;
  x.device_ = device;
  Arena* arena = Arena::current();
  if (arena != nullptr && arena->device() == device) {
    x.data_ = arena->allocate(x.bytes());
  } else {
    x.buffer_ = std::make_shared<Buffer>(device, x.bytes());
    x.data_ = x.buffer_->data();
  }
  return x;
}

Tensor zeros(const Shape& shape, DType dtype, Device device) {
  Tensor x = empty(shape, dtype, device);
  zero_memory(device, x.raw(), x.bytes());
  return x;
}

Tensor to_device(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  Tensor y = empty(x.shape(), x.dtype(), device);
  copy(x, y);
  return y;
}

void copy(const Tensor& from, const Tensor& to) {
  check(from.shape() == to.shape() && from.dtype() == to.dtype(), "copy: expected {} {}, got {} {}", to.dtype(),
        to.shape(), from.dtype(), from.shape());
  copy_memory(to.device(), to.raw(), from.device(), from.raw(), from.bytes());
}

}  // namespace fovea
