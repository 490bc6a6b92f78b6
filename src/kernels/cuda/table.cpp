#include "kernels/cuda/cuda.h"

#include "kernels/cuda/functions.h"

namespace fovea {

const KernelTable& cuda_kernels() {
  static const KernelTable table = {
      .matmul = cuda::matmul,
      .affine = cuda::affine,
      .unary = cuda::unary,
      .unary_grad = cuda::unary_grad,
      .binary = cuda::binary,
      .binary_grad = cuda::binary_grad,
      .reduce = cuda::reduce,
      .reduce_grad = cuda::reduce_grad,
      .concat = cuda::concat,
      .split = cuda::split,
      .embedding = cuda::embedding,
      .embedding_grad = cuda::embedding_grad,
      .dropout = cuda::dropout,
      .layer_norm = cuda::layer_norm,
      .layer_norm_grad = cuda::layer_norm_grad,
      .normalize = cuda::normalize,
      .normalize_grad = cuda::normalize_grad,
      .softmax = cuda::softmax,
      .softmax_grad = cuda::softmax_grad,
      .sparsemax = cuda::sparsemax,
      .sparsemax_grad = cuda::sparsemax_grad,
      .cross_entropy = cuda::cross_entropy,
      .cross_entropy_grad = cuda::cross_entropy_grad,
      .additive_score = cuda::additive_score,
      .additive_score_grad = cuda::additive_score_grad,
      .additive_attention = cuda::additive_attention,
      .additive_attention_grad = cuda::additive_attention_grad,
      .dot_attention = cuda::dot_attention,
      .dot_attention_grad = cuda::dot_attention_grad,
      .gaussian_window = cuda::gaussian_window,
      .gaussian_window_grad = cuda::gaussian_window_grad,
      .rotary = cuda::rotary,
      .choose = cuda::choose,
      .top_k = cuda::top_k,
      .cell = cuda::cell,
      .cell_grad = cuda::cell_grad,
      .recurrent = cuda::recurrent,
      .recurrent_grad = cuda::recurrent_grad,
      .conv2d = cuda::conv2d,
      .conv2d_grad = cuda::conv2d_grad,
      .pool2d = cuda::pool2d,
      .pool2d_grad = cuda::pool2d_grad,
      .squared_norm = cuda::squared_norm,
      .sgd = cuda::sgd,
      .adam = cuda::adam,
  };
  return table;
}

}  // namespace fovea
