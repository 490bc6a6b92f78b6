// The specification: plain loops in f32 and f64, one function per equation. The other backends are
// tested against it, and every gradient in it against central differences.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

const KernelTable& reference_kernels();

}  // namespace fovea
