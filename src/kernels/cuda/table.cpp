#include "kernels/cuda/cuda.h"

#include "kernels/cuda/functions.h"

namespace fovea {

#define FOVEA_TABLE_ENTRY(name, Args) .name = cuda::name,

const KernelTable& cuda_kernels() {
  static const KernelTable table = {FOVEA_KERNELS(FOVEA_TABLE_ENTRY)};
  return table;
}

#undef FOVEA_TABLE_ENTRY

}  // namespace fovea
