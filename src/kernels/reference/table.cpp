#include "kernels/reference/reference.h"

#include "kernels/reference/functions.h"

namespace fovea {

const KernelTable& reference_kernels() {
  static const KernelTable table = {
      .matmul = reference::matmul,
      .affine = reference::affine,
      .unary = reference::unary,
      .unary_grad = reference::unary_grad,
      .binary = reference::binary,
      .binary_grad = reference::binary_grad,
      .reduce = reference::reduce,
      .reduce_grad = reference::reduce_grad,
      .concat = reference::concat,
      .split = reference::split,
      .embedding = reference::embedding,
      .embedding_grad = reference::embedding_grad,
      .dropout = reference::dropout,
      .layer_norm = reference::layer_norm,
      .layer_norm_grad = reference::layer_norm_grad,
      .normalize = reference::normalize,
      .normalize_grad = reference::normalize_grad,
      .softmax = reference::softmax,
      .softmax_grad = reference::softmax_grad,
      .sparsemax = reference::sparsemax,
      .sparsemax_grad = reference::sparsemax_grad,
      .cross_entropy = reference::cross_entropy,
      .cross_entropy_grad = reference::cross_entropy_grad,
      .additive_score = reference::additive_score,
      .additive_score_grad = reference::additive_score_grad,
      .additive_attention = reference::additive_attention,
      .additive_attention_grad = reference::additive_attention_grad,
      .dot_attention = reference::dot_attention,
      .dot_attention_grad = reference::dot_attention_grad,
      .gaussian_window = reference::gaussian_window,
      .gaussian_window_grad = reference::gaussian_window_grad,
      .rotary = reference::rotary,
      .choose = reference::choose,
      .top_k = reference::top_k,
      .cell = reference::cell,
      .cell_grad = reference::cell_grad,
      .recurrent = reference::recurrent,
      .recurrent_grad = reference::recurrent_grad,
      .conv2d = reference::conv2d,
      .conv2d_grad = reference::conv2d_grad,
      .pool2d = reference::pool2d,
      .pool2d_grad = reference::pool2d_grad,
      .squared_norm = reference::squared_norm,
      .sgd = reference::sgd,
      .adam = reference::adam,
  };
  return table;
}

}  // namespace fovea
