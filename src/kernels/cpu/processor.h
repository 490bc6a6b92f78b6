// What the processor can do beyond the instruction sets that Highway tells apart.
#pragma once

namespace fovea::cpu {

// AVX-512 with BF16: it rounds to bf16 and multiplies pairs of bf16, each in one instruction.
#if defined(__x86_64__)
inline const bool kHasAvx512Bf16 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bf16");
// AVX-512 with VNNI: four products of bytes at a time.
inline const bool kHasAvx512Vnni = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                   __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
#else
inline constexpr bool kHasAvx512Bf16 = false, kHasAvx512Vnni = false;
#endif

}  // namespace fovea::cpu
