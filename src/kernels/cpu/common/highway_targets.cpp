// The functions that Highway's headers call to choose an instruction set, in place of those of its library: libhwy
// measures the resolution of its timer whenever it is loaded, for several milliseconds of every start of the program.
#include <atomic>

#include "kernels/cpu/common/simd.h"

namespace hwy {

namespace {

// Of the instruction sets that simd.h compiles. A set counts if the CPU has all that Highway lets the compiler use.
int64_t detected() {
#if defined(__x86_64__)
#define FOVEA_HAS(feature) (__builtin_cpu_supports(feature) != 0)
  int64_t targets = HWY_STATIC_TARGET;
  const bool avx2 = FOVEA_HAS("sse4.2") && FOVEA_HAS("aes") && FOVEA_HAS("pclmul") && FOVEA_HAS("avx2") &&
                    FOVEA_HAS("fma") && FOVEA_HAS("bmi") && FOVEA_HAS("bmi2") && FOVEA_HAS("f16c");
  const bool avx512 = avx2 && FOVEA_HAS("avx512f") && FOVEA_HAS("avx512vl") && FOVEA_HAS("avx512bw") &&
                      FOVEA_HAS("avx512dq") && FOVEA_HAS("avx512cd");
#undef FOVEA_HAS
  if (avx2) targets |= HWY_AVX2;
  if (avx512) targets |= HWY_AVX3;
  return targets;
#else
  return HWY_STATIC_TARGET;
#endif
}

std::atomic<int64_t> disabled = 0;
std::atomic<int64_t> set_for_test = 0;  // instead of those detected, unless it is 0

}  // namespace

int64_t SupportedTargets() {
  static const int64_t all = detected();
  const int64_t for_test = set_for_test.load(), targets = (for_test != 0 ? for_test : all) & ~disabled.load();
  return targets != 0 ? targets : HWY_STATIC_TARGET;
}

void DisableTargets(int64_t disabled_targets) {
  disabled = disabled_targets;
  GetChosenTarget().DeInit();  // the next call of a kernel chooses again
}

void SetSupportedTargetsForTest(int64_t targets) {
  set_for_test = targets;
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
