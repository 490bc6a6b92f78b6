// Products of matrices that lie on the card: what `matmul` calls, and whole layers with working memory of their own.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cuda {

// A batch of matrices in memory, as kernels.h's Matrix says.
struct Factor {
  const void* data;
  DType dtype;
  int64_t row_stride = 0, batch_stride = 0;
  bool transposed = false;
};

// c[g] (+)= alpha * a[g] b[g] + bias[g]. c's elements begin at `c`.
struct ProductArgs {
  Factor a, b, c;  // c is written to
  const float* bias = nullptr;
  const bf16* rounded_bias = nullptr;  // the same in bf16, where there is one
  int64_t bias_stride = 0;             // 0: one for all
  int64_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1.0f;
  bool accumulate = false;
  Precision precision = Precision::kF32;
};

void multiply(Stream& stream, const ProductArgs& args);

// Through cuBLASLt; false when it has nothing for these types or strides.
bool multiply_by_library(Stream& stream, const ProductArgs& args);
// By kernels of our own that are faster where one side of the batch's matrices is thin; false where it is not.
bool multiply_thin(Stream& stream, const ProductArgs& args);
// By a kernel of our own, slower, for anything at all: types that cuBLASLt does not mix, sums of nothing.
void multiply_by_hand(Stream& stream, const ProductArgs& args);

// A tensor's elements rounded to bf16, kept with its buffer until its contents change; null when the buffer cannot
// keep one (an arena's).
const bf16* rounded(const Tensor& x);
// The same for a kernel that changes all contents of the buffer, after contents_changed() was called: it writes the
// rounded ones too, which then are up to date. Null when nobody has asked for them yet.
bf16* rounded_to_update(const Tensor& x);

// The weight [.., ..] of a recurrence as it enters products with elements of this type.
Factor weight_factor(const Tensor& weight, DType elements, Precision precision);

}  // namespace fovea::cuda
