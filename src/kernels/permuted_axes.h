// A permutation of axes in its simplest form, from which the fast backends choose a kernel.
#pragma once

#include <array>

#include "base/random.h"  // FOVEA_HOST_DEVICE
#include "kernels/kernels.h"

namespace fovea {

// The axes of y = permute(x), outermost first, with their sizes and their strides in x and y. Axes that are neighbours
// in the same order in x and y are merged into one, and axes of size 1 are left out.
struct PermutedAxes {
  int rank = 0;
  int64_t sizes[Shape::kMaxRank] = {};
  int64_t x_strides[Shape::kMaxRank] = {}, y_strides[Shape::kMaxRank] = {};

  explicit PermutedAxes(const PermuteArgs& args) {
    const Shape& shape = args.x.shape();
    for (int i = 0; i < shape.rank(); ++i) {
      const int axis = args.axes[static_cast<size_t>(i)];
      const int64_t size = shape[axis], stride = shape.count(axis + 1, shape.rank());
      if (size == 1) continue;
      if (rank > 0 && x_strides[rank - 1] == size * stride) {
        sizes[rank - 1] *= size;
        x_strides[rank - 1] = stride;
      } else {
        sizes[rank] = size;
        x_strides[rank++] = stride;
      }
    }
    if (rank == 0) sizes[rank] = x_strides[rank] = 1, ++rank;
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
      y_strides[i] = stride;
      stride *= sizes[i];
    }
  }

  FOVEA_HOST_DEVICE int last() const { return rank - 1; }
  // Whether rows of the last axis are contiguous in x too.
  bool moves_rows() const { return x_strides[last()] == 1; }
  // The axis that is contiguous in x.
  int contiguous() const {
    int axis = last();
    while (axis > 0 && x_strides[axis] != 1) --axis;
    return axis;
  }

  struct Offsets {
    int64_t x, y;
  };
  // Returns the start of item number `n` of all axes but `skipped` and the last. Pass the last axis to skip that one
  // alone.
  FOVEA_HOST_DEVICE Offsets offsets(int64_t n, int skipped) const {
    Offsets at = {0, 0};
    for (int axis = rank - 2; axis >= 0; --axis) {
      if (axis == skipped) continue;
      const int64_t place = n % sizes[axis];
      n /= sizes[axis];
      at.x += place * x_strides[axis];
      at.y += place * y_strides[axis];
    }
    return at;
  }
};

}  // namespace fovea
