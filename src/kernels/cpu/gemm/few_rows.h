// f32 GEMM of one to three rows by a matrix that is read where it is stored: packing it would cost more than the
// products. The scores and contexts of one decoding step are such GEMMs.
#pragma once

#include "kernels/cpu/gemm/panel_gemm.h"

namespace fovea::cpu {

// Whether rows are so few.
inline bool are_few(const PanelRows& rows) { return rows.m <= 3; }
// b is [k,n] (stored transposed: [n,k]) in f32. Runs on the calling thread.
void multiply_few(const PanelRows& rows, const MatrixView& b, int64_t n, int64_t k, const PanelOutput& out);

}  // namespace fovea::cpu
