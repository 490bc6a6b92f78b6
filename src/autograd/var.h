// A value that may have a gradient. A Var is a handle: copies share the value and the gradient. A value without a
// gradient is a constant. Slices of the first axis and reshapes share the gradient as well: adding to the gradient of
// a part adds to the gradient of the whole, without a copy in either direction.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

struct DeferredProduct;
class DeferredGradient;

// The gradient of one value, which backward closures accumulate.
struct Gradient {
  Shape shape;
  DType dtype = DType::kF32;
  Device device;
  Tensor sum;                            // allocated and zeroed on first use
  Gradient* whole = nullptr;             // the gradient that this one is a part of, if any
  int64_t offset = 0;                    // of the part, in elements of the whole
  bool on_side_stream = false;           // the side stream is adding to it (see Tape::flush)
  bool leaf = false;                     // belongs to a parameter or a part of one, which no node computed
  DeferredProduct* products = nullptr;   // deferred by Tape::defer_product, latest first
  DeferredGradient* deferred = nullptr;  // deferred by Tape::defer_gradient

  explicit Gradient(const Tensor& value) : shape(value.shape()), dtype(value.dtype()), device(value.device()) {}
  // Returns the tensor to add to.
  Tensor tensor();
  // Returns the tensor without zeroing it, for a kernel that can either overwrite or accumulate: `accumulate` is false
  // for the first kernel, which has to overwrite it.
  struct Slot {
    Tensor tensor;
    bool accumulate;
  };
  Slot slot();
  // Stores the gradient in `storage`, whose present contents the caller then overwrites. Has no effect if the gradient
  // has storage already or is a part.
  void adopt_storage(const Tensor& storage) {
    if (whole == nullptr && !sum) sum = storage;
  }
  bool present() const {
    return whole != nullptr ? whole->present() : static_cast<bool>(sum) || products != nullptr || deferred != nullptr;
  }
};

class Var {
 public:
  Var() = default;
  Var(Tensor value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): a constant
  Var(Tensor value, Gradient* gradient) : value_(std::move(value)), gradient_(gradient) {}

  explicit operator bool() const { return static_cast<bool>(value_); }
  const Tensor& value() const { return value_; }
  const Shape& shape() const { return value_.shape(); }
  int rank() const { return value_.rank(); }
  int64_t dim(int axis) const { return value_.dim(axis); }
  int64_t size() const { return value_.size(); }
  DType dtype() const { return value_.dtype(); }
  Device device() const { return value_.device(); }

  bool needs_grad() const { return gradient_ != nullptr; }
  // Returns the tensor that backward closures add to; it is empty for a constant.
  Tensor grad() const { return gradient_ ? gradient_->tensor() : Tensor(); }
  Gradient* gradient() const { return gradient_; }
  Gradient::Slot grad_slot() const { return gradient_->slot(); }  // requires needs_grad()

  Var reshape(const Shape& shape) const;
  Var slice(int64_t begin, int64_t end) const;  // along the first axis
  Var operator[](int64_t index) const;          // selects along the first axis and removes it

 private:
  Var part(Tensor value, int64_t offset) const;

  Tensor value_;
  Gradient* gradient_ = nullptr;
};

}  // namespace fovea
