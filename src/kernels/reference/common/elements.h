// Access to elements in the reference kernels: one dispatch on the dtype, and views indexed like the symbols of an
// equation.
#pragma once

#include <cassert>
#include <cstdint>
#include <limits>

#include "kernels/kernels.h"

namespace fovea::reference {

template <class T> constexpr T kInfinity = std::numeric_limits<T>::infinity();

// Calls body(T{}) with the type of the tensor's elements: float or double.
template <class Body> void with_type_of(const Tensor& x, Body&& body) {
  if (x.dtype() == DType::kF64) return body(double{});
  check(x.dtype() == DType::kF32, "reference: expected elements of f32 or f64, got {}", x.dtype());
  body(float{});
}

// The elements of a row-major tensor by their indices: x(t, b, d). False if the tensor is absent.
template <class T, int kRank> struct View {
  T* data;
  int64_t sizes[kRank];

  explicit operator bool() const { return data != nullptr; }
  template <class... Index> T& operator()(Index... indices) const {
    static_assert(sizeof...(Index) == kRank);
    assert(data != nullptr);
    const int64_t places[] = {int64_t{indices}...};
    int64_t flat = 0;
    for (int axis = 0; axis < kRank; ++axis) {
      assert(0 <= places[axis] && places[axis] < sizes[axis]);
      flat = flat * sizes[axis] + places[axis];
    }
    return data[flat];
  }
};

// Returns a view of the elements with these sizes; the tensor may have another shape with as many elements.
template <class T, class... Size> View<T, sizeof...(Size)> view(const Tensor& x, Size... sizes) {
  assert(!x || x.size() == (int64_t{1} * ... * sizes));
  return {x.data<T>(), {int64_t{sizes}...}};
}

// Loads and stores one element of any dtype. i32 is truncated towards zero.
inline double load(const Tensor& x, int64_t index) {
  switch (x.dtype()) {
    case DType::kF32: return x.data<float>()[index];
    case DType::kBF16: return static_cast<float>(x.data<bf16>()[index]);
    case DType::kI32: return x.data<int32_t>()[index];
    case DType::kF64: break;
  }
  return x.data<double>()[index];
}
inline void store(const Tensor& x, int64_t index, double value) {
  switch (x.dtype()) {
    case DType::kF32: x.data<float>()[index] = static_cast<float>(value); return;
    case DType::kBF16: x.data<bf16>()[index] = bf16(static_cast<float>(value)); return;
    case DType::kI32: x.data<int32_t>()[index] = static_cast<int32_t>(value); return;
    case DType::kF64: x.data<double>()[index] = value; return;
  }
}

}  // namespace fovea::reference
