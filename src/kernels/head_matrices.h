// Views of each head as a matrix, so that one batched GEMM computes all heads without a transposition. Matrix (b,h) of
// a sequence [T,B,H*d] starts at element (b*H+h)*d and its rows are B*H*d apart; of scores [B,H,T,S] it is contiguous.
#pragma once

#include "kernels/kernels.h"

namespace fovea {

inline Matrix per_head(const Tensor& sequence, int64_t heads, bool transposed = false) {
  return {.tensor = sequence,
          .row_stride = sequence.dim(1) * sequence.dim(2),
          .batch_stride = sequence.dim(2) / heads,
          .transposed = transposed};
}

inline Matrix per_head(const Tensor& scores, bool transposed = false) {
  return {.tensor = scores,
          .row_stride = scores.dim(3),
          .batch_stride = scores.dim(2) * scores.dim(3),
          .transposed = transposed};
}

}  // namespace fovea
