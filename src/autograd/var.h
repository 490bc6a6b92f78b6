// A value that may have a gradient. A Var is a handle: copies share both. Values without a gradient are
// constants. Slices of the first axis and reshapes share the gradient too: what is added to the part
// is added to the whole, and nothing is copied in either direction.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

struct Product;
class PutOff;

// Where the gradient of one value is gathered.
struct Gradient {
  Shape shape;
  DType dtype = DType::kF32;
  Device device;
  Tensor sum;                 // made, and set to zero, when first asked for
  Gradient* whole = nullptr;  // set for a part: the gradient it lies in, and where
  int64_t offset = 0;
  bool beside = false;          // something that is beside the rest of the pass adds to it (see Tape::settle)
  bool leaf = false;            // not computed from anything: a parameter, or a part of one
  Product* products = nullptr;  // products put off (see Tape::defer), latest first
  PutOff* put_off = nullptr;    // what else is (see Tape::put_off)

  explicit Gradient(const Tensor& value) : shape(value.shape()), dtype(value.dtype()), device(value.device()) {}
  // What to add to.
  Tensor tensor();
  // The same without the zeros, for a kernel that can overwrite as well as add: the first one overwrites.
  struct Slot {
    Tensor tensor;
    bool accumulate;
  };
  Slot slot();
  // Makes this memory, which holds something else, what to add to. Only for the first that adds, which is to
  // overwrite it; without effect on one that others have added to, or that is a part.
  void begin_in(const Tensor& memory) {
    if (whole == nullptr && !sum) sum = memory;
  }
  bool present() const {
    return whole != nullptr ? whole->present() : static_cast<bool>(sum) || products != nullptr || put_off != nullptr;
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
  // What a backward closure adds to; empty for a constant.
  Tensor grad() const { return gradient_ ? gradient_->tensor() : Tensor(); }
  Gradient* gradient() const { return gradient_; }
  Gradient::Slot grad_slot() const { return gradient_->slot(); }  // only where a gradient is needed

  Var reshape(const Shape& shape) const;
  Var slice(int64_t begin, int64_t end) const;  // of the first axis
  Var operator[](int64_t index) const;          // one of the first axis, which goes

 private:
  Var part(Tensor value, int64_t offset) const;

  Tensor value_;
  Gradient* gradient_ = nullptr;
};

}  // namespace fovea
