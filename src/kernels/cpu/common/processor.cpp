#include "kernels/cpu/common/processor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/cpu.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace fovea::cpu {

namespace {

constexpr std::array<std::string_view, 4> kNames = {"baseline", "avx2", "avx512", "amx"};
std::string_view name_of(InstructionSet set) { return kNames[static_cast<size_t>(set)]; }

#if defined(__x86_64__)

#define FOVEA_HAS(feature) (__builtin_cpu_supports(feature) != 0)

// The registers of CPUID leaf 7, which the compiler's function does not know in full; 0 where there is no such leaf.
struct Leaf7 {
  uint32_t a = 0, b = 0, c = 0, d = 0;
};
Leaf7 leaf7(uint32_t part) {
  Leaf7 leaf;
  asm("cpuid" : "=a"(leaf.a), "=b"(leaf.b), "=c"(leaf.c), "=d"(leaf.d) : "a"(0), "c"(0));
  if (leaf.a < 7) return {};
  asm("cpuid" : "=a"(leaf.a), "=b"(leaf.b), "=c"(leaf.c), "=d"(leaf.d) : "a"(7), "c"(part));
  return leaf;
}
bool has_avx_vnni() { return leaf7(0).a >= 1 && (leaf7(1).a >> 4 & 1); }
bool has_amx_int8() { return leaf7(0).d >> 25 & 1; }

// Returns whether the CPU has AMX with bf16 and the operating system saves the tile registers.
bool has_amx_bf16() {
  const uint32_t d = leaf7(0).d;
  const bool tiles = d >> 24 & 1, products = d >> 22 & 1;
  if (!tiles || !products || !FOVEA_HAS("avx512bf16")) return false;
  uint32_t low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3) == 3;
}

// Linux grants a process the 8 KB of tile registers only on request.
bool is_granted_amx() {
#if defined(__linux__)
  constexpr int kFeatureTileData = 18, kRequestPermission = 0x1023;  // arguments of arch_prctl
  return syscall(SYS_arch_prctl, kRequestPermission, kFeatureTileData) == 0;
#else
  return false;
#endif
}

void detect(Processor& p) {
  const int64_t targets = hwy::SupportedTargets();
  const bool avx512 = (targets & HWY_AVX3) != 0, amx = avx512 && has_amx_bf16();
  p.has = amx                    ? InstructionSet::kAmx
          : avx512               ? InstructionSet::kAvx512
          : (targets & HWY_AVX2) ? InstructionSet::kAvx2
                                 : InstructionSet::kBaseline;
  const std::pair<bool, std::string_view> features[] = {
      {FOVEA_HAS("sse4.1"), "sse4.1"},   {FOVEA_HAS("avx2"), "avx2"},
      {FOVEA_HAS("fma"), "fma"},         {has_avx_vnni(), "avx-vnni"},
      {FOVEA_HAS("avx512f"), "avx512f"}, {FOVEA_HAS("avx512vnni"), "vnni"},
      {FOVEA_HAS("avx512bf16"), "bf16"}, {amx, "amx"}};
  for (const auto& [there, name] : features) {
    if (there) p.features += fmt::format("{}{}", p.features.empty() ? "" : ", ", name);
  }
}

void cap_highway(InstructionSet used) {
  int64_t above = 0;
  if (used < InstructionSet::kAvx512) above |= HWY_AVX3 | HWY_AVX3_DL;
  if (used < InstructionSet::kAvx2) above |= HWY_AVX2 | HWY_SSE4 | HWY_SSSE3;
  hwy::DisableTargets(above);
}

#else

void detect(Processor&) {}
void cap_highway(InstructionSet) {}

#endif

Processor find_out() {
  Processor p;
  detect(p);
  p.used = p.has;
  const char* set = std::getenv("FOVEA_ISA");
  const std::string_view cap = set != nullptr ? set : "";
  if (const auto* found = std::find(kNames.begin(), kNames.end(), cap); found != kNames.end()) {
    p.used = std::min(p.has, static_cast<InstructionSet>(found - kNames.begin()));
    p.capped = p.used < p.has;
  } else {
    p.unknown_cap = cap;
  }
#if defined(__x86_64__)
  if (p.used == InstructionSet::kAmx && !is_granted_amx()) p.used = InstructionSet::kAvx512;
  if (p.used >= InstructionSet::kAvx512) {
    p.uses_avx512_bf16 = FOVEA_HAS("avx512bf16");
    p.uses_avx512_vnni = FOVEA_HAS("avx512vnni");
  }
  p.uses_avx_vnni = p.used >= InstructionSet::kAvx2 && has_avx_vnni();
  p.uses_amx_int8 = p.used == InstructionSet::kAmx && p.uses_avx512_vnni && has_amx_int8();
#endif
  if (p.capped) cap_highway(p.used);
  return p;
}

}  // namespace

const Processor& processor() noexcept {
  static const Processor found = find_out();
  return found;
}

}  // namespace fovea::cpu

namespace fovea {

void check_instruction_set() {
  const std::string& unknown = cpu::processor().unknown_cap;
  check(unknown.empty(), "FOVEA_ISA: expected baseline, avx2, avx512 or amx, got {}", unknown);
}

std::string describe_cpu() {
  check_instruction_set();
  const cpu::Processor& p = cpu::processor();
  return fmt::format("CPU: {}{}, used: {}{}", cpu::name_of(p.has),
                     p.features.empty() ? "" : fmt::format(" ({})", p.features), cpu::name_of(p.used),
                     p.capped ? " (FOVEA_ISA)" : "");
}

}  // namespace fovea
