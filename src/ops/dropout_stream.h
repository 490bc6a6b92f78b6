// The random numbers of a dropout.
#pragma once

#include "autograd/tape.h"

namespace fovea {

// Returns the random stream of the next dropout. It has no step if nothing is to be dropped, because the rate is 0 or
// no tape in training records.
inline RandomStream dropout_stream(float rate) {
  check(rate >= 0.0f && rate < 1.0f, "dropout: expected a rate in [0,1), got {}", rate);
  Tape* tape = Tape::current();
  return rate > 0.0f && tape != nullptr && tape->training() ? tape->next_random_stream() : RandomStream();
}

}  // namespace fovea
