#include "kernels/cpu/cpu.h"

namespace fovea {

const KernelTable& cpu_kernels() { fail("cpu: this build has no CPU backend; configure with -DFOVEA_CPU=ON"); }

}  // namespace fovea
