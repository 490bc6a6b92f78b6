// Products of a few rows at a time by one weight, as a recurrence has them: the weight's columns lie in
// panels of 32, which the caller shares out among threads of its own. bf16 products run on the kernels of
// gemm_bf16.h, f32 ones on a kernel here. A sum runs over k in an order that depends on k alone.
#pragma once

#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/gemm/gemm_bf16.h"

namespace fovea::cpu {

// A weight [k,n] in panels: one of the two copies is there.
struct PanelWeight {
  int64_t n = 0, k = 0;
  const float* whole = nullptr;  // [n/32][k][32], padded with 0
  PackedColumns rounded;

  int64_t panels() const { return (n + kPanel - 1) / kPanel; }
};
// From the copies its buffer keeps, brought up to date; from `spare` where none may be kept. Where the
// machine has no kernel for them, bf16 products are done in f32; int8 ones are bf16 ones here.
PanelWeight panel_weight(const Matrix& weight, int64_t n, int64_t k, Precision precision, Scratch& spare);

// Rows as a product by the weight reads them: where they are, or a copy of this thread's.
struct PanelRows {
  const float* whole = nullptr;
  int64_t stride = 0;
  const bf16* rounded = nullptr;
  int64_t m = 0;
};
PanelRows panel_rows(const Rows& rows, const PanelWeight& weight);

// c [m,n] = rows weight + bias, or += where it accumulates.
struct PanelOutput {
  float* data = nullptr;
  int64_t row_stride = 0;
  const float* bias = nullptr;
  bool accumulate = false;
};
// Columns 32*begin to min(32*end, n), on the calling thread. k > 0. `out` describes the whole c.
void multiply(const PanelRows& rows, const PanelWeight& weight, int64_t begin, int64_t end, const PanelOutput& out);

}  // namespace fovea::cpu
