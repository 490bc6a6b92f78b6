// The CPU backend: f32 and bf16, SIMD through Highway with run-time dispatch, products through oneDNN
// and our own bf16 kernels, threads through base/threads.h.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

const KernelTable& cpu_kernels();

}  // namespace fovea
