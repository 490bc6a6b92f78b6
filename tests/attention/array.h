// A row-major array of doubles, for computations that are written out cell by cell.
#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace fovea::testing {

class Array {
 public:
  Array() = default;
  explicit Array(const Shape& shape) : shape_(shape), cells_(static_cast<size_t>(shape.count())) {}
  // The elements of a tensor of f64 or f32, on any device; an empty array for no tensor.
  explicit Array(const Tensor& x) {
    if (!x) return;
    shape_ = x.shape();
    if (x.dtype() == DType::kF64) {
      cells_ = to_host<double>(x);
    } else {
      for (const float cell : to_host<float>(x)) cells_.push_back(static_cast<double>(cell));
    }
  }

  const Shape& shape() const { return shape_; }
  const std::vector<double>& cells() const { return cells_; }
  bool empty() const { return cells_.empty(); }
  int64_t dim(int axis) const { return shape_[axis]; }

  template <class... Index> double& operator()(Index... index) { return cells_[offset(index...)]; }
  template <class... Index> double operator()(Index... index) const { return cells_[offset(index...)]; }

 private:
  template <class... Index> size_t offset(Index... index) const {
    int64_t at = 0;
    int axis = 0;
    ((at = at * shape_[axis++] + static_cast<int64_t>(index)), ...);
    return static_cast<size_t>(at);
  }

  Shape shape_;
  std::vector<double> cells_;
};

}  // namespace fovea::testing
