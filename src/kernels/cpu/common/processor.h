// What the CPU can do, and how much of it our kernels and oneDNN may use: the environment variable FOVEA_ISA caps the
// instruction set (baseline, avx2, avx512 or amx). A cap above what the CPU has changes nothing.
//
// Results are the same bits for every number of threads, but not for every instruction set: wider registers add in
// another order, and without FMA a product is rounded before it is added.
#pragma once

#include <cstdint>
#include <string>

namespace fovea::cpu {

// Each includes the ones before it. kBaseline is what the compiler may assume of every CPU of the architecture.
enum class InstructionSet : uint8_t { kBaseline, kAvx2, kAvx512, kAmx };

struct Processor {
  InstructionSet has = InstructionSet::kBaseline;   // the best of this CPU
  InstructionSet used = InstructionSet::kBaseline;  // lower where FOVEA_ISA or the operating system says so
  std::string features;                             // of the CPU, as text
  std::string unknown_cap;                          // FOVEA_ISA, where it names no instruction set
  bool capped = false;                              // used is lower because of FOVEA_ISA
  bool uses_avx512_bf16 = false;                    // rounding to bf16 and products of bf16 pairs, one instruction each
  bool uses_avx512_vnni = false;                    // four products of bytes at a time
};

// Found out at the first call, which also tells Highway. Static initialisers below make that call, so the cap holds
// before main begins; therefore this throws nothing.
const Processor& processor() noexcept;

// For inner loops: reading a constant is cheaper than a call.
inline const bool kUsesAvx512Bf16 = processor().uses_avx512_bf16;
inline const bool kUsesAvx512Vnni = processor().uses_avx512_vnni;

}  // namespace fovea::cpu
