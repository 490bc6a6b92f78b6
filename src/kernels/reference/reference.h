// The specification: plain loops in f32 and f64, one function per equation. Tests compare the other backends with it,
// and each of its gradients with central differences.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

const KernelTable& reference_kernels();

}  // namespace fovea
