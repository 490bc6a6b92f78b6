// A row-major, contiguous tensor: storage, shape, dtype and device, without strides and without mathematics.
// It is a handle: copies share the elements. Slicing along the first axis and reshaping copy nothing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/memory.h"
#include "tensor/shape.h"

namespace fovea {

class Tensor {
 public:
  Tensor() = default;  // an absent tensor, for optional arguments

  explicit operator bool() const { return data_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t size() const { return shape_.count(); }
  size_t bytes() const { return static_cast<size_t>(size()) * size_of(dtype_); }
  DType dtype() const { return dtype_; }
  Device device() const { return device_; }

  // Returns the address of the elements on their device, to be read or written.
  std::byte* raw() const {
    if (buffer_ && buffer_->needs_widening()) buffer_->widen(data_, bytes());
    return data_;
  }
  // The same; T must be the type of the dtype.
  template <class T> T* data() const {
    check(!data_ || dtype_ == dtype_of<T>, "tensor: expected elements of {}, got {}", dtype_of<T>, dtype_);
    return reinterpret_cast<T*>(raw());
  }
  // The address alone, to be compared with others: the elements may be stored in 8 bits elsewhere.
  std::byte* address() const { return data_; }
  // The `columns` elements from `first` on in 8 bits, if they are a row of a matrix that is stored so.
  QuantisedRow quantised_row(int64_t first, int64_t columns) const {
    if (!buffer_) return {};
    return buffer_->quantised_row(data_ + first * static_cast<int64_t>(size_of(dtype_)), columns);
  }

  Tensor reshape(const Shape& shape) const;
  Tensor slice(int64_t begin, int64_t end) const;  // along the first axis
  Tensor operator[](int64_t index) const;          // selects along the first axis and removes it

  // Returns the buffer that owns the elements; null when an arena owns them.
  Buffer* buffer() const { return buffer_.get(); }
  // Must be called after writing to a tensor that GEMMs may read as a weight.
  void contents_changed() const {
    if (buffer_) buffer_->contents_changed(data_, bytes());
  }

 private:
  friend Tensor empty(const Shape& shape, DType dtype, Device device);

  Shape shape_;
  DType dtype_ = DType::kF32;
  Device device_;
  std::byte* data_ = nullptr;
  std::shared_ptr<Buffer> buffer_;
};

// Allocates uninitialised elements, from the current arena of the thread if it is on the device, else from the heap.
Tensor empty(const Shape& shape, DType dtype, Device device);
Tensor zeros(const Shape& shape, DType dtype, Device device);
inline Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype(), x.device()); }
inline Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype(), x.device()); }

// Copies the elements to another device. Returns x itself if it is there already.
Tensor to_device(const Tensor& x, Device device);
void copy(const Tensor& from, const Tensor& to);  // same shape and dtype, any devices

template <class T> Tensor from_host(std::span<const T> elements, const Shape& shape, Device device) {
  check(static_cast<int64_t>(elements.size()) == shape.count(), "tensor: expected {} elements for {}, got {}",
        shape.count(), shape, elements.size());
  const Tensor x = empty(shape, dtype_of<T>, device);
  copy_memory(device, x.raw(), Device::cpu(), reinterpret_cast<const std::byte*>(elements.data()), x.bytes());
  return x;
}
template <class T> Tensor from_host(const std::vector<T>& elements, const Shape& shape, Device device) {
  return from_host(std::span<const T>(elements), shape, device);
}

template <class T> std::vector<T> to_host(const Tensor& x) {
  std::vector<T> elements(static_cast<size_t>(x.size()));
  copy_memory(Device::cpu(), reinterpret_cast<std::byte*>(elements.data()), x.device(),
              reinterpret_cast<const std::byte*>(x.template data<T>()), x.bytes());
  return elements;
}

}  // namespace fovea
