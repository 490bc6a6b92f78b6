// Kernels that are several others in a row, for backends that have nothing to gain from fusing them.
#pragma once

#include <initializer_list>

#include "kernels/kernels.h"

namespace fovea {

// Sets gradients that are to be overwritten to zero, for backends that always add.
inline void clear_unless(bool accumulate, std::initializer_list<Tensor> gradients) {
  if (accumulate) return;
  for (const Tensor& x : gradients) {
    if (x) zero_memory(x.device(), x.raw(), x.bytes());
  }
}

// The layer norm of a sum that is computed here, and what is left to do after its gradient.
LayerNormArgs norm_of_sum(const KernelTable& table, Stream& stream, LayerNormArgs args);
void drop_grad_of_sum(const KernelTable& table, Stream& stream, const LayerNormGradArgs& args);

void additive_attention_by_parts(const KernelTable& table, Stream& stream, const AdditiveAttentionArgs& args);
void additive_attention_grad_by_parts(const KernelTable& table, Stream& stream, const AdditiveAttentionGradArgs& args);

}  // namespace fovea
