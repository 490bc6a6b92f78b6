// One step of a recurrent cell over a block of rows and units, on the calling thread: what the cell
// kernels and the layers share.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cpu {

// Rows [row_begin, row_end) and units [begin, end) of a step. A sentence (row) has ended where t is at
// or past its length; without lengths none has.
struct CellBlock {
  int64_t row_begin = 0, row_end = 0, begin = 0, end = 0;
  const int32_t* lengths = nullptr;
  int64_t t = 0;

  bool ended(int64_t row) const { return lengths != nullptr && t >= lengths[row]; }
};

// As the kernel `cell`. h_gates may be f32 where the elements are bf16. An ended sentence keeps its state.
void cell_forward(const CellArgs& args, const CellBlock& block);

// Inside a layer the gradients of state and memory are carried from step to step: dstate and dmemory (f32)
// hold those of the new ones, to which dnew_state is added, and are replaced by those of the
// previous ones, as far as they do not come through h_gates. dx_gates is added to and may be absent;
// dh_gates is overwritten. An ended sentence hands its gradient on and has none in its gates.
void cell_backward(const CellGradArgs& args, const CellBlock& block);

}  // namespace fovea::cpu
