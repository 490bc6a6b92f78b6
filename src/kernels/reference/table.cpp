#include "kernels/reference/reference.h"

#include "kernels/reference/functions.h"

namespace fovea {

#define FOVEA_TABLE_ENTRY(name, Args) .name = reference::name,

const KernelTable& reference_kernels() {
  static const KernelTable table = {FOVEA_KERNELS(FOVEA_TABLE_ENTRY)};
  return table;
}

#undef FOVEA_TABLE_ENTRY

}  // namespace fovea
