// The tanh of the special-function units: within 2^-11, finer than bf16's own rounding.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

__device__ inline float fast_tanh(float x) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return tanhf(x);
#endif
}

}  // namespace fovea::cuda
