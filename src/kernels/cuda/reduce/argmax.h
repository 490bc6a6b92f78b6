// A value with its index, for reductions to the largest value. Of equal values the first index is taken.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

struct ArgMax {
  float value;
  int32_t index;  // -1 if empty
};

struct LargerArgMax {
  __device__ ArgMax operator()(ArgMax a, ArgMax b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    if (a.value != b.value) return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
  }
};

__device__ inline ArgMax from_lane(ArgMax x, int other) {
  return {from_lane(x.value, other), from_lane(x.index, other)};
}

}  // namespace fovea::cuda
