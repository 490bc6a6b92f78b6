// The largest of what the threads of a team have seen, of equal ones the first.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

struct Best {
  float value;
  int32_t index;  // -1: nothing yet
};

struct Better {
  __device__ Best operator()(Best a, Best b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    if (a.value != b.value) return a.value > b.value ? a : b;
    return a.index < b.index ? a : b;
  }
};

__device__ inline Best from_lane(Best x, int other) { return {from_lane(x.value, other), from_lane(x.index, other)}; }

}  // namespace fovea::cuda
