// Entries of the CPU table that have no implementation of their own yet run the reference's (f32 only).
#include "kernels/cpu/functions.h"
#include "kernels/reference/functions.h"

#define FOVEA_FALLBACK(name, Args) \
  void fovea::cpu::name(Stream& stream, const Args& args) { reference::name(stream, args); }

FOVEA_FALLBACK(layer_norm, LayerNormArgs)
FOVEA_FALLBACK(layer_norm_grad, LayerNormGradArgs)
FOVEA_FALLBACK(normalize, NormalizeArgs)
FOVEA_FALLBACK(normalize_grad, NormalizeGradArgs)
FOVEA_FALLBACK(softmax, SoftmaxArgs)
FOVEA_FALLBACK(softmax_grad, SoftmaxGradArgs)
FOVEA_FALLBACK(sparsemax, SparsemaxArgs)
FOVEA_FALLBACK(sparsemax_grad, SparsemaxGradArgs)
FOVEA_FALLBACK(cross_entropy, CrossEntropyArgs)
FOVEA_FALLBACK(cross_entropy_grad, CrossEntropyGradArgs)
FOVEA_FALLBACK(dot_attention, DotAttentionArgs)
FOVEA_FALLBACK(dot_attention_grad, DotAttentionGradArgs)
FOVEA_FALLBACK(gaussian_window, GaussianWindowArgs)
FOVEA_FALLBACK(gaussian_window_grad, GaussianWindowGradArgs)
FOVEA_FALLBACK(pool2d, Pool2dArgs)
FOVEA_FALLBACK(pool2d_grad, Pool2dGradArgs)
FOVEA_FALLBACK(squared_norm, SquaredNormArgs)
FOVEA_FALLBACK(sgd, SgdArgs)
FOVEA_FALLBACK(adam, AdamArgs)
