// GEMM on device pointers, for `matmul` and for kernels that use a workspace.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cuda {

// A batch of matrices in device memory, with the fields of Matrix in kernels.h.
struct Factor {
  const void* data;
  DType dtype;
  int64_t row_stride = 0, batch_stride = 0;
  bool transposed = false;
};

// c[g] (+)= alpha * a[g] b[g] + bias[g].
struct GemmArgs {
  Factor a, b, c;  // c is the output
  const float* bias = nullptr;
  const bf16* rounded_bias = nullptr;  // the bias in bf16, if a copy exists
  int64_t bias_stride = 0;             // 0 if all matrices share the bias
  int64_t m = 0, n = 0, k = 0, batch = 1;
  float alpha = 1.0f;
  bool accumulate = false;
  Precision precision = Precision::kF32;
};

void gemm(Stream& stream, const GemmArgs& args);

// Uses cuBLASLt. Returns false, without effect, if it does not support these types or strides.
bool cublaslt_gemm(Stream& stream, const GemmArgs& args);
// Uses kernels that are faster than cuBLASLt for batches with a very small m or k. Returns false, without effect, for
// other sizes.
bool skinny_gemm(Stream& stream, const GemmArgs& args);
// Uses a slow kernel that supports all arguments: mixed types that cuBLASLt rejects, and k = 0.
void fallback_gemm(Stream& stream, const GemmArgs& args);

// Returns a copy of the elements rounded to bf16, which the buffer caches until its contents change; null if the tensor
// has no buffer (it is in an arena).
const bf16* bf16_copy(const Tensor& x);
// Returns the cached copy for a kernel that overwrites all contents of the buffer and the copy, after a call of
// contents_changed(); the copy is then considered up to date. Returns null if no copy exists.
bf16* bf16_copy_to_update(const Tensor& x);

// Returns the weight of a recurrent layer or convolution as a GEMM factor for elements of this type.
Factor weight_factor(const Tensor& weight, DType elements, Precision precision);

}  // namespace fovea::cuda
