// GEMM of rows by one matrix in panels of 32 columns: a few rows at a time in a recurrent layer, which distributes the
// panels to its own threads, or any number of rows on all threads. bf16 GEMMs use the kernels of gemm_bf16.h, f32 GEMMs
// a kernel of this file. The order of a sum over k depends on k alone.
#pragma once

#include <algorithm>

#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/gemm/gemm_bf16.h"
#include "kernels/cpu/gemm/partition.h"

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

// Packs an f32 matrix [k,n] (stored transposed: [n,k]) into panels, on all threads. `to` has panels() * k * 32
// elements.
PanelWeight pack_panels(const MatrixView& from, int64_t n, int64_t k, float* to);

// Rows as the GEMM reads them: the stored rows, or a copy of this thread.
struct PanelRows {
  const float* whole = nullptr;
  int64_t stride = 0;
  const bf16* rounded = nullptr;
  int64_t m = 0;
  bool transposed = false;  // element (i, l) is whole[l * stride + i]; f32 only
};
PanelRows panel_rows(const Rows& rows, const PanelWeight& weight);

// c [m,n] = alpha * rows weight + bias, or += if `accumulate`. f32 GEMMs can add a residual, whose rows are as far
// apart as those of c, and then take the positive part.
struct PanelOutput {
  float* data = nullptr;
  int64_t row_stride = 0;
  const float* bias = nullptr;
  bool accumulate = false;
  float alpha = 1.0f;
  const float* residual = nullptr;
  bool relu = false;

  PanelOutput at(int64_t row, int64_t column) const {
    PanelOutput out = *this;
    const int64_t moved = row * row_stride + column;
    out.data += moved;
    if (bias) out.bias += column;
    if (residual) out.residual += moved;
    return out;
  }
};
// Computes columns 32*begin to min(32*end, n) on the calling thread. k > 0. `out` describes the whole c.
void multiply(const PanelRows& rows, const PanelWeight& weight, int64_t begin, int64_t end, const PanelOutput& out);
// Distributes an f32 GEMM of m rows to all threads: calls body(rows, panels) for each cell, on one thread.
template <class Body> void for_cells(int64_t m, const PanelWeight& weight, Body&& body) {
  constexpr int64_t kFewest = 1 << 18;  // multiplications for another thread
  constexpr int64_t kUnit = 12;         // rows: a multiple of the height of tiles
  const int64_t threads = std::clamp<int64_t>(m * weight.n * weight.k / kFewest, 1, thread_count());
  for_partition((m + kUnit - 1) / kUnit, weight.panels(), threads, [&](Range units, Range panels) {
    body(Range{units.begin * kUnit, std::min(m, units.end * kUnit)}, panels);
  });
}
// Computes all columns of an f32 GEMM, on all threads.
void multiply(const PanelRows& rows, const PanelWeight& weight, const PanelOutput& out);

}  // namespace fovea::cpu
