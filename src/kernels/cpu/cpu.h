// The CPU backend: f32 and bf16, SIMD through Highway with run-time dispatch, products through oneDNN
// and our own bf16 kernels, threads through base/threads.h.
#pragma once

#include <string>

#include "kernels/kernels.h"

namespace fovea {

const KernelTable& cpu_kernels();

// Throws Error where the environment variable FOVEA_ISA names no instruction set. cpu_kernels does so, too.
void check_instruction_set();
// What the CPU has and what is used, as `fovea --version` prints it.
std::string describe_cpu();

}  // namespace fovea
