#include "kernels/cpu/cpu.h"

#include "kernels/cpu/functions.h"

namespace fovea {

namespace {

KernelTable make_table() {
  check_instruction_set();
  return {
      .matmul = cpu::matmul,
      .affine = cpu::affine,
      .unary = cpu::unary,
      .unary_grad = cpu::unary_grad,
      .binary = cpu::binary,
      .binary_grad = cpu::binary_grad,
      .reduce = cpu::reduce,
      .reduce_grad = cpu::reduce_grad,
      .concat = cpu::concat,
      .split = cpu::split,
      .embedding = cpu::embedding,
      .embedding_grad = cpu::embedding_grad,
      .dropout = cpu::dropout,
      .layer_norm = cpu::layer_norm,
      .layer_norm_grad = cpu::layer_norm_grad,
      .normalize = cpu::normalize,
      .normalize_grad = cpu::normalize_grad,
      .softmax = cpu::softmax,
      .softmax_grad = cpu::softmax_grad,
      .sparsemax = cpu::sparsemax,
      .sparsemax_grad = cpu::sparsemax_grad,
      .cross_entropy = cpu::cross_entropy,
      .cross_entropy_grad = cpu::cross_entropy_grad,
      .additive_score = cpu::additive_score,
      .additive_score_grad = cpu::additive_score_grad,
      .additive_attention = cpu::additive_attention,
      .additive_attention_grad = cpu::additive_attention_grad,
      .dot_attention = cpu::dot_attention,
      .dot_attention_grad = cpu::dot_attention_grad,
      .gaussian_window = cpu::gaussian_window,
      .gaussian_window_grad = cpu::gaussian_window_grad,
      .rotary = cpu::rotary,
      .choose = cpu::choose,
      .top_k = cpu::top_k,
      .cell = cpu::cell,
      .cell_grad = cpu::cell_grad,
      .recurrent = cpu::recurrent,
      .recurrent_grad = cpu::recurrent_grad,
      .conv2d = cpu::conv2d,
      .conv2d_grad = cpu::conv2d_grad,
      .pool2d = cpu::pool2d,
      .pool2d_grad = cpu::pool2d_grad,
      .squared_norm = cpu::squared_norm,
      .sgd = cpu::sgd,
      .adam = cpu::adam,
  };
}

}  // namespace

const KernelTable& cpu_kernels() {
  static const KernelTable table = make_table();
  return table;
}

}  // namespace fovea
