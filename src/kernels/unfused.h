// Fused kernels expressed by other kernels of a table, for backends that do not fuse them.
#pragma once

#include <initializer_list>

#include "kernels/kernels.h"

namespace fovea {

// Zeroes the gradients unless `accumulate`, for backends whose kernels always accumulate.
inline void zero_unless(bool accumulate, std::initializer_list<Tensor> gradients) {
  if (accumulate) return;
  for (const Tensor& x : gradients) {
    if (x) zero_memory(x.device(), x.raw(), x.bytes());
  }
}

// The residual connection of layer_norm: computes the sum and returns the arguments that normalise it.
LayerNormArgs add_residual(const KernelTable& table, Stream& stream, LayerNormArgs args);
// The residual connection of layer_norm_grad: computes dresidual from dx.
void residual_grad(const KernelTable& table, Stream& stream, const LayerNormGradArgs& args);

// The residual and the rectifier of convolutions: y += residual, and then its positive part.
void finish_convolution(const KernelTable& table, Stream& stream, const Tensor& y, const Tensor& residual, bool relu);

void additive_attention_unfused(const KernelTable& table, Stream& stream, const AdditiveAttentionArgs& args);
void additive_attention_grad_unfused(const KernelTable& table, Stream& stream, const AdditiveAttentionGradArgs& args);

}  // namespace fovea
