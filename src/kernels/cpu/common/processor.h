// The instruction sets of the CPU, and which of them our kernels may use: the environment variable FOVEA_ISA
// caps them (baseline, avx2, avx512 or amx). A cap above those of the CPU has no effect.
//
// Results have the same bits for every number of threads, but not for every instruction set: wider registers sum in
// another order, and without FMA a product is rounded before it is added.
#pragma once

#include <cstdint>
#include <string>

namespace fovea::cpu {

// Each instruction set includes the previous ones. kBaseline is what the compiler may assume of every CPU of the
// architecture.
enum class InstructionSet : uint8_t { kBaseline, kAvx2, kAvx512, kAmx };

struct Processor {
  InstructionSet has = InstructionSet::kBaseline;   // the best one of this CPU
  InstructionSet used = InstructionSet::kBaseline;  // lower if FOVEA_ISA or the operating system requires it
  std::string features;                             // of the CPU, as text
  std::string unknown_cap;                          // the value of FOVEA_ISA if it names no instruction set
  bool capped = false;                              // `used` is lower because of FOVEA_ISA
  bool uses_avx512_bf16 = false;  // instructions for rounding to bf16 and for dot products of bf16 pairs
  bool uses_avx512_vnni = false;  // instruction for dot products of four bytes
  bool uses_avx_vnni = false;     // the same for 256 bits, without AVX-512
  bool uses_amx_int8 = false;     // products of tiles of bytes
};

// Detected at the first call, which also configures Highway. Static initialisers below make this call, so that the cap
// holds before main; therefore it does not throw.
const Processor& processor() noexcept;

// A constant for inner loops, because reading it is cheaper than a call.
inline const bool kUsesAvx512Bf16 = processor().uses_avx512_bf16;

}  // namespace fovea::cpu
