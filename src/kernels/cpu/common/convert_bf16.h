// Copies between f32 and bf16 (rounded to nearest even), and sums, on all threads.
#pragma once

#include "tensor/dtype.h"

namespace fovea::cpu {

struct MatrixSize {
  int64_t rows = 0, columns = 0;
  int64_t from_stride = 0, to_stride = 0;  // in elements
};
void convert(const bf16* from, float* to, const MatrixSize& size);
void convert(const float* from, bf16* to, const MatrixSize& size);

// to += from.
void add(const float* from, float* to, int64_t count);
void add(const float* from, bf16* to, int64_t count);

}  // namespace fovea::cpu
