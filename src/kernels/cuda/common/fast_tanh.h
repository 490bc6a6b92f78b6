// The tanh instruction of the special-function units. Its error is below 2^-11, less than the rounding of bf16.
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
