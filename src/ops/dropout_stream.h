// Whether dropout drops, and by which random numbers.
#pragma once

#include "autograd/tape.h"

namespace fovea {

// Without a step where nothing is dropped now: only a tape in training does.
inline RandomStream dropout_stream(float rate) {
  check(rate >= 0.0f && rate < 1.0f, "dropout: expected a rate in [0,1), got {}", rate);
  Tape* tape = Tape::current();
  return rate > 0.0f && tape != nullptr && tape->training() ? tape->next_random_stream() : RandomStream();
}

}  // namespace fovea
