#include "kernels/cuda/cuda.h"

namespace fovea {

const KernelTable& cuda_kernels() { fail("cuda: this build has no CUDA; configure with -DFOVEA_CUDA=ON"); }

}  // namespace fovea
