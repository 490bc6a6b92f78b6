#include "kernels/cpu/cpu.h"

#include "kernels/cpu/functions.h"

namespace fovea {

#define FOVEA_TABLE_ENTRY(name, Args) .name = cpu::name,

namespace {

KernelTable make_table() {
  check_instruction_set();
  return {FOVEA_KERNELS(FOVEA_TABLE_ENTRY)};
}

}  // namespace

const KernelTable& cpu_kernels() {
  static const KernelTable table = make_table();
  return table;
}

#undef FOVEA_TABLE_ENTRY

}  // namespace fovea
