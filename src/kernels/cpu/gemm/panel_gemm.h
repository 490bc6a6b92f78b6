// GEMM of rows by one weight in panels of 32 columns, which the caller distributes to its own threads: a few rows at a
// time in a recurrent layer, any number in a linear one. bf16 GEMMs use the kernels of gemm_bf16.h, f32 GEMMs a kernel
// of this file. The order of a sum over k depends on k alone.
#pragma once

#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/gemm/gemm_bf16.h"

namespace fovea::cpu {

// A weight [k,n] in panels: one of the two copies exists.
struct PanelWeight {
  int64_t n = 0, k = 0;
  const float* whole = nullptr;  // [n/32][k][32], padded with 0
  PackedColumns rounded;

  int64_t panels() const { return (n + kPanel - 1) / kPanel; }
};
// Returns the copy that the buffer caches, after updating it, or a copy in `spare` if it cannot be cached. On a machine
// without a kernel for them, bf16 GEMMs are computed in f32; int8 is treated as bf16 here.
PanelWeight panel_weight(const Matrix& weight, int64_t n, int64_t k, Precision precision, Workspace& buffer);

// Rows as the GEMM reads them: the stored rows, or a copy of this thread.
struct PanelRows {
  const float* whole = nullptr;
  int64_t stride = 0;
  const bf16* rounded = nullptr;
  int64_t m = 0;
};
PanelRows panel_rows(const Rows& rows, const PanelWeight& weight);

// c [m,n] = rows weight + bias, or += if `accumulate`.
struct PanelOutput {
  float* data = nullptr;
  int64_t row_stride = 0;
  const float* bias = nullptr;
  bool accumulate = false;
};
// Computes columns 32*begin to min(32*end, n) on the calling thread. k > 0. `out` describes the whole c.
void multiply(const PanelRows& rows, const PanelWeight& weight, int64_t begin, int64_t end, const PanelOutput& out);

}  // namespace fovea::cpu
