// The faster ways to dot attention, each for some problems: false where it is not for this one, and nothing was done.
// In the order they are asked; plain kernels for anything at all come last.
#pragma once

#include "kernels/kernels.h"

namespace fovea::cuda {

// A few queries with wide heads, a kernel for them alone; back only to the query.
bool attend_by_steps(Stream& stream, const DotAttentionArgs& args);
bool attend_grad_by_steps(Stream& stream, const DotAttentionGradArgs& args);

// Wide heads by products and a softmax between them.
bool attend_by_products(Stream& stream, const DotAttentionArgs& args);
bool attend_grad_by_products(Stream& stream, const DotAttentionGradArgs& args);

// One query; writes `weights`, too.
bool attend_one(Stream& stream, const DotAttentionArgs& args);

// Through cuDNN: long ones without a mask. `weights` are not written, here and below.
bool attend_by_library(Stream& stream, const DotAttentionArgs& args);
bool attend_grad_by_library(Stream& stream, const DotAttentionGradArgs& args);

// On the tensor cores.
bool attend_by_tensor_cores(Stream& stream, const DotAttentionArgs& args);
bool attend_grad_by_tensor_cores(Stream& stream, const DotAttentionGradArgs& args);

// to += from, of a multiple of eight elements that lie at multiples of 16 bytes.
void add_elements(Stream& stream, bf16* to, const bf16* from, int64_t count);

}  // namespace fovea::cuda
