// FOVEA_ISA caps the instruction sets of the kernels. It is read once, at program start, so each case
// runs in its own process: a death test starts this program again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/processor_test.cpp"
#include "kernels/cpu/common/simd.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {
int64_t compiled_for() { return HWY_TARGET; }
}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "kernels/cpu/common/processor.h"
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/gemm/gemm_bf16.h"

namespace fovea::cpu {
HWY_EXPORT(compiled_for);

namespace {

// Returns whether an instruction set of Highway is included in ours. Better ones have lower numbers.
bool is_within(int64_t target, InstructionSet cap) {
  if (cap == InstructionSet::kBaseline) return target > HWY_SSSE3;
  return cap == InstructionSet::kAvx2 ? target >= HWY_AVX2 : true;
}
[[noreturn]] void exit_whether_within(InstructionSet cap) {
  const bool within = processor().used == std::min(cap, processor().has) &&
                      is_within(HWY_DYNAMIC_DISPATCH(compiled_for)(), cap) &&
                      (bf16_kernel() != Bf16Kernel::kAmx || cap == InstructionSet::kAmx) &&
                      (bf16_kernel() != Bf16Kernel::kAvx512 || cap >= InstructionSet::kAvx512) &&
                      (!processor().uses_avx512_vnni || cap >= InstructionSet::kAvx512);
  std::fputs(describe_cpu().c_str(), stderr);
  std::exit(within ? 0 : 1);
}

class Isa : public ::testing::Test {
 protected:
  Isa() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (const char* set = std::getenv("FOVEA_ISA")) before_ = set;
  }
  ~Isa() override { before_.empty() ? unsetenv("FOVEA_ISA") : setenv("FOVEA_ISA", before_.c_str(), 1); }

 private:
  std::string before_;
};
using IsaDeathTest = Isa;

TEST_F(IsaDeathTest, CapsTheKernels) {
  setenv("FOVEA_ISA", "baseline", 1);
  EXPECT_EXIT(exit_whether_within(InstructionSet::kBaseline), ::testing::ExitedWithCode(0), "used: baseline");
  setenv("FOVEA_ISA", "avx2", 1);
  EXPECT_EXIT(exit_whether_within(InstructionSet::kAvx2), ::testing::ExitedWithCode(0), "used: (avx2|baseline)");
  setenv("FOVEA_ISA", "avx512", 1);
  EXPECT_EXIT(exit_whether_within(InstructionSet::kAvx512), ::testing::ExitedWithCode(0), "CPU: ");
  setenv("FOVEA_ISA", "amx", 1);
  EXPECT_EXIT(exit_whether_within(InstructionSet::kAmx), ::testing::ExitedWithCode(0), "CPU: ");
}

TEST_F(IsaDeathTest, AnUnknownOneIsAnErrorThatListsThem) {
  const auto what = [] {
    try {
      cpu_kernels();
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::exit(3);
    }
  };
  setenv("FOVEA_ISA", "sse9", 1);
  EXPECT_EXIT(what(), ::testing::ExitedWithCode(3), "FOVEA_ISA: expected baseline, avx2, avx512 or amx, got sse9");
}

}  // namespace
}  // namespace fovea::cpu

#endif  // HWY_ONCE
