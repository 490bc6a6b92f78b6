// What a build without the CPU backend has in its place.
#include "kernels/cpu/common/processor.h"
#include "kernels/cpu/cpu.h"

namespace fovea {

const KernelTable& cpu_kernels() { fail("cpu: this build has no CPU backend; configure with -DFOVEA_CPU=ON"); }
void check_instruction_set() {}
std::string describe_cpu() { return "CPU: this build has no CPU backend"; }
Precision computed_precision(Precision precision) { return precision; }
Precision fastest_precision() { return Precision::kF32; }
std::string describe_precisions() { return describe_cpu(); }

const cpu::Processor& cpu::processor() noexcept {
  static const Processor none;
  return none;
}

}  // namespace fovea
