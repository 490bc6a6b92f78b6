// The CPU backend: f32 and bf16, with SIMD through Highway and run-time dispatch, GEMM kernels of its own, and
// threads of base/threads.h.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace fovea {

const KernelTable& cpu_kernels();

// Throws Error if the environment variable FOVEA_ISA names no instruction set, as cpu_kernels does.
void check_instruction_set();
// Describes the CPU and the instruction set in use, for `fovea --version`.
std::string describe_cpu();

// The precision in which GEMMs of the given one are computed on this CPU: bf16 is f32 where there is no kernel for it.
Precision computed_precision(Precision precision);
// The faster one of f32 and bf16 on this CPU, for training and for decoding with weights that are not in 8 bits.
Precision fastest_precision();
// Says what --precision auto, f32, bf16 and int8 compute on this CPU, for `fovea info`.
std::string describe_precisions();

}  // namespace fovea
