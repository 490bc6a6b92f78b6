// The CUDA backend: f32 and bf16 on one device. GEMMs use cuBLASLt, long attention uses cuDNN, and all other kernels
// are ours.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

// Throws Error in a build without CUDA.
const KernelTable& cuda_kernels();

}  // namespace fovea
