// Declares the functions of the reference table; each has the name of its kernel.
#pragma once

#include "kernels/kernels.h"

namespace fovea::reference {

#define FOVEA_DECLARE_KERNEL(name, Args) void name(Stream&, const Args&);
FOVEA_KERNELS(FOVEA_DECLARE_KERNEL)
#undef FOVEA_DECLARE_KERNEL

}  // namespace fovea::reference
