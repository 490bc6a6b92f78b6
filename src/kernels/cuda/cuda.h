// The CUDA backend: f32 and bf16 on one card, products through cuBLASLt, everything else by hand.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

// Error in a build without CUDA.
const KernelTable& cuda_kernels();

}  // namespace fovea
