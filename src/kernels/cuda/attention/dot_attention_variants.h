// The specialised implementations of dot-product attention. Each returns false, without effect, for arguments that it
// does not support. dot_attention tries them in this order and falls back to plain kernels that support everything.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cuda {

// Fused kernels for a few queries with wide heads. The gradient supports only dquery.
bool attend_decoder_step(Stream& stream, const DotAttentionArgs& args);
bool attend_decoder_step_grad(Stream& stream, const DotAttentionGradArgs& args);

// Batched GEMMs with a softmax between them, for wide heads.
bool attend_with_gemm(Stream& stream, const DotAttentionArgs& args);
bool attend_with_gemm_grad(Stream& stream, const DotAttentionGradArgs& args);

// Kernels for one query; `weights` are written if given.
bool attend_single_query(Stream& stream, const DotAttentionArgs& args);

// cuDNN, for long sequences without a mask. These and the following do not write `weights`.
bool attend_with_cudnn(Stream& stream, const DotAttentionArgs& args);
bool attend_with_cudnn_grad(Stream& stream, const DotAttentionGradArgs& args);

// Tensor-core kernels.
bool attend_with_mma(Stream& stream, const DotAttentionArgs& args);
bool attend_with_mma_grad(Stream& stream, const DotAttentionGradArgs& args);

// to += from, for a multiple of eight elements at addresses that are multiples of 16 bytes.
void add_elements(Stream& stream, bf16* to, const bf16* from, int64_t count);

}  // namespace fovea::cuda
