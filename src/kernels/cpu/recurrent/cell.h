// One step of a recurrent cell over a block of rows and units, on the calling thread, for the cell kernels and the
// layers.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cpu {

// Rows [row_begin, row_end) and units [begin, end) of a step. A sentence (row) has ended if t >= its length; without
// lengths none has.
struct CellBlock {
  int64_t row_begin = 0, row_end = 0, begin = 0, end = 0;
  const int32_t* lengths = nullptr;
  int64_t t = 0;

  bool ended(int64_t row) const { return lengths != nullptr && t >= lengths[row]; }
};

// The kernel `cell`. h_gates may be f32 if the elements are bf16. A sentence that has ended copies its state.
void cell_forward(const CellArgs& args, const CellBlock& block);

// The gradient inside a layer. dstate and dcell_state (f32) contain the gradients of the new states, to which
// dnew_state is added, and are replaced by those of the previous states, without the contribution through h_gates.
// dx_gates is accumulated and may be absent; dh_gates is overwritten. A sentence that has ended passes on its gradient
// and has zero gate gradients.
void cell_backward(const CellGradArgs& args, const CellBlock& block);

}  // namespace fovea::cpu
