// Every op refuses a wrong shape, dtype or device with a sentence that says what it expected and got.
#include <gtest/gtest.h>

#include "ops/ops.h"
#include "support.h"

namespace fovea {
namespace {

Var f32(const Shape& shape) { return zeros(shape, DType::kF32, Device::cpu()); }
Var f64(const Shape& shape) { return zeros(shape, DType::kF64, Device::reference()); }
Tensor i32(const Shape& shape) { return zeros(shape, DType::kI32, Device::cpu()); }

TEST(OpErrors, Linear) {
  EXPECT_ERROR(linear(f32({2, 3}), f32({4, 5})), "linear: expected x with 5 columns for the weight [4,5], got [2,3]");
  EXPECT_ERROR(linear(f32({2, 3}), f32({4, 3}), f32({3})), "linear: expected the bias of shape [4], got [3]");
  EXPECT_ERROR(linear(f32({2, 3}), f64({4, 3})), "linear: expected the weight of f32, got f64");
  EXPECT_ERROR(linear({}, f32({4, 3})), "linear: expected x, got none");
  EXPECT_ERROR(linear(i32({2, 3}), f32({4, 3})), "linear: expected x of f32, bf16 or f64, got i32");
  const Var elsewhere = zeros({4, 3}, DType::kF32, Device::reference());
  EXPECT_ERROR(linear(f32({2, 3}), elsewhere), "linear: expected the weight on cpu, got reference");
}

TEST(OpErrors, Matmul) {
  EXPECT_ERROR(matmul(f32({2, 3}), f32({2, 3})), "matmul: expected b to match a [2,3], got [2,3]");
  EXPECT_ERROR(matmul(f32({2, 3}), f32({3, 2}), {.b = true}),
               "matmul: expected b to match a [2,3], got [3,2] transposed");
  EXPECT_ERROR(matmul(f32({2, 3}), f32({5, 3, 2})), "matmul: expected b with 2 axes, got [5,3,2]");
  EXPECT_ERROR(matmul(f32({4, 2, 3}), f32({5, 3, 2})), "matmul: expected b to match a [4,2,3], got [5,3,2]");
}

TEST(OpErrors, Elementwise) {
  EXPECT_ERROR(f32({2, 3}) + f32({2}), "binary: expected b to broadcast to [2,3], got [2]");
  EXPECT_ERROR(f32({2, 3}) * f64({3}), "binary: expected b of f32, got f64");
  EXPECT_ERROR(tanh(i32({2})), "unary: expected x of f32, bf16 or f64, got i32");
  EXPECT_ERROR(affine(i32({2}), 2.0f), "affine: expected x of f32, bf16 or f64, got i32");
  EXPECT_ERROR(cast({}, DType::kF32), "cast: expected x, got none");
}

TEST(OpErrors, ReduceAndMove) {
  EXPECT_ERROR(sum(f32({2, 3}), 2), "reduce: expected an axis of [2,3], got 2");
  EXPECT_ERROR(argmax(i32({2}), 0), "argmax: expected x of f32, bf16 or f64, got i32");
  EXPECT_ERROR(concat({f32({2, 3}), f32({3, 3})}, 1),
               "concat: expected parts that differ from [2,3] in axis 1 alone, got [3,3]");
  EXPECT_ERROR(concat(std::span<const Var>(), 0), "concat: expected at least one part, got none");
  EXPECT_ERROR(concat({f32({2}), f64({2})}, 0), "concat: expected every part of f32, got f64");
  const Var parts[] = {f32({2}), f32({3})};
  EXPECT_ERROR(stack(parts), "stack: expected every part of shape [2], got [3]");
  EXPECT_ERROR(columns(f32({2, 3}), 1, 4), "columns: expected a range within 0..3, got 1..4");
  EXPECT_ERROR(f32({3}).slice(2, 5), "slice: expected a range within 0..3, got 2..5");
}

TEST(OpErrors, Embedding) {
  const Tensor ids = from_host(std::vector<int32_t>{0, 7}, {2}, Device::cpu());
  EXPECT_ERROR(embedding(f32({7, 2}), ids), "embedding: expected ids below 7, got 7 at 1");
  EXPECT_ERROR(embedding(f32({7, 2}), f32({2}).value()), "embedding: expected ids of i32, got f32");
  EXPECT_ERROR(embedding(f32({7}), ids), "embedding: expected the table with 2 axes, got [7]");
}

TEST(OpErrors, Indexing) {
  EXPECT_ERROR(permute(f32({2, 3}), {0, 0}), "permute: expected each axis of [2,3] once, got [0,0]");
  EXPECT_ERROR(permute(f32({2, 3}), {0}), "permute: expected each axis of [2,3] once, got [0]");
  const Tensor index = from_host(std::vector<int32_t>{0, 3}, {1, 2}, Device::cpu());
  EXPECT_ERROR(gather(f32({4, 3}), 1, index), "gather: expected indices below 3, got 3 at 1");
  EXPECT_ERROR(gather(f32({4, 3}), 2, index), "gather: expected an axis of [4,3], got 2");
  EXPECT_ERROR(gather(f32({4, 3}), 0, i32({2})), "gather: expected the index with 2 axes, got [2]");
  EXPECT_ERROR(gather(f32({4, 3}), 0, f32({2, 1}).value()), "gather: expected the index of i32, got f32");
  EXPECT_ERROR(gather(f32({4, 3}), 0, i32({2, 2})),
               "gather: expected an index that broadcasts to [4,3] along all axes but 0, got [2,2]");
  EXPECT_ERROR(scatter_add(f32({4, 3}), 0, i32({2, 1}), f32({3, 3})),
               "scatter_add: expected the source of shape [2,3], got [3,3]");
  const Tensor negative = from_host(std::vector<int32_t>{-1}, {1, 1}, Device::cpu());
  EXPECT_ERROR(scatter_add(f32({4, 3}), 0, negative, f32({1, 3})),
               "scatter_add: expected indices below 4, got -1 at 0");
}

TEST(OpErrors, PoolingOverTime) {
  EXPECT_ERROR(pool_time(PoolOp::kAverage, f32({2, 3})), "pool_time: expected x with 3 axes, got [2,3]");
  EXPECT_ERROR(pool_time(PoolOp::kAverage, f32({2, 3, 4}), i32({2})),
               "pool_time: expected lengths of shape [3], got [2]");
  EXPECT_ERROR(attention_pool(f32({2, 4, 1}), f32({2, 3, 4})),
               "attention_pool: expected scores of shape [2,3,1], got [2,4,1]");
  EXPECT_ERROR(attention_pool(f32({2, 3, 3}), f32({2, 3, 4})),
               "attention_pool: expected a number of heads that divides 4, got 3");
}

TEST(OpErrors, BatchNorm) {
  const RunningStatistics running{f32({3}).value(), f32({3}).value()};
  EXPECT_ERROR(batch_norm(f32({2, 3}), f32({2}), f32({3}), running),
               "batch_norm: expected gamma of shape [3], got [2]");
  EXPECT_ERROR(batch_norm(f32({2, 3}), f32({3}), f32({3}), {running.mean, {}}),
               "batch_norm: expected the running variance, got none");
  EXPECT_ERROR(fold_batch_norm({f32({4, 1, 1, 3}), {}}, f32({4}), f32({4}), running),
               "fold_batch_norm: expected the running mean of shape [4], got [3]");
  Tape tape(Device::cpu());
  tape.reset();
  const TapeScope tape_scope(tape);
  EXPECT_ERROR(batch_norm(f32({1, 3}), f32({3}), f32({3}), running),
               "batch_norm: expected at least 2 values of each channel in training, got 1");
}

TEST(OpErrors, DropoutAndNorms) {
  EXPECT_ERROR(dropout(f32({2}), 1.0f), "dropout: expected a rate in [0,1), got 1");
  EXPECT_ERROR(layer_norm(f32({2, 3}), f32({2}), f32({3})), "layer_norm: expected gamma of shape [3], got [2]");
  EXPECT_ERROR(normalize(f32({})), "normalize: expected x with 1 to 6 axes, got []");
}

TEST(OpErrors, SoftmaxAndLosses) {
  EXPECT_ERROR(softmax(f32({2, 3, 4}), {.lengths = i32({3})}), "softmax: expected lengths of shape [2], got [3]");
  EXPECT_ERROR(sparsemax(f32({2, 3, 4}), {.bias = f32({2, 2, 3, 4}).value()}),
               "sparsemax: expected a mask bias that broadcasts to [2,1,3,4], got [2,2,3,4]");
  EXPECT_ERROR(log_softmax(f32({2, 3, 4}), {.lengths = f32({2}).value()}),
               "log_softmax: expected lengths of i32, got f32");
  EXPECT_ERROR(cross_entropy(f32({2, 3}), i32({3})), "cross_entropy: expected targets of shape [2], got [3]");
  const Tensor targets = from_host(std::vector<int32_t>{0, 3}, {2}, Device::cpu());
  EXPECT_ERROR(cross_entropy(f32({2, 3}), targets), "cross_entropy: expected targets below 3 or -1, got 3 at 1");
  EXPECT_ERROR(cross_entropy(f32({2, 3}), i32({2}), 1.5f), "cross_entropy: expected a smoothing in [0,1), got 1.5");
}

TEST(OpErrors, Attention) {
  EXPECT_ERROR(dot_score(f32({4, 2, 6}), f32({5, 3, 6})),
               "dot_score: expected keys for 2 sentences like the query [4,2,6], got [5,3,6]");
  EXPECT_ERROR(dot_score(f32({4, 2, 6}), f32({5, 2, 6}), 4),
               "dot_score: expected a number of heads that divides 6, got 4");
  EXPECT_ERROR(dot_score(f32({4, 2, 6}), f32({5, 2, 4})), "dot_score: expected keys of depth 6, got [5,2,4]");
  EXPECT_ERROR(additive_score(f32({4, 2, 6}), f32({5, 2, 6}), f32({5})),
               "additive_score: expected v of shape [6], got [5]");
  EXPECT_ERROR(weighted_sum(f32({2, 1, 4, 5}), f32({6, 2, 3})),
               "weighted_sum: expected values [5,2,D] for the weights [2,1,4,5], got [6,2,3]");
  EXPECT_ERROR(dot_attention(f32({4, 2, 6}), f32({5, 2, 6}), f32({4, 2, 6})), "dot_attention: expected values [5,2,D]");
  EXPECT_ERROR(dot_attention(f32({4, 2, 6}), f32({5, 2, 6}), f32({5, 2, 6}), {.dropout = -0.1f}),
               "dot_attention: expected a dropout in [0,1), got -0.1");
  EXPECT_ERROR(gaussian_window(f32({2, 1, 4, 5}), f32({4, 2, 1}), 0.0f),
               "gaussian_window: expected a sigma above 0, got 0");
  EXPECT_ERROR(gaussian_window(f32({2, 1, 4, 5}), f32({4, 2}), 1.0f),
               "gaussian_window: expected the center of shape [4,2,1], got [4,2]");
}

TEST(OpErrors, Recurrence) {
  EXPECT_ERROR(cell(Cell::kGru, f32({2, 9}), f32({2, 8}), {f32({2, 3}), {}}),
               "cell: expected the state's gates of shape [2,9], got [2,8]");
  EXPECT_ERROR(cell(Cell::kLstm, f32({2, 12}), f32({2, 12}), {f32({2, 3}), {}}),
               "cell: expected the cell state, got none");
  EXPECT_ERROR(recurrent(f32({4, 2, 9}), {.cell = Cell::kGru, .weight = f32({9, 4})}),
               "recurrent: expected the weight of shape [12,4], got [9,4]");
  EXPECT_ERROR(recurrent(f32({4, 2, 8}), {.cell = Cell::kGru, .weight = f32({9, 3})}),
               "recurrent: expected the input's gates of shape [4,2,9], got [4,2,8]");
  EXPECT_ERROR(recurrent(f32({4, 2, 9}), {.cell = Cell::kGru, .weight = f32({9, 3}), .lengths = i32({4})}),
               "recurrent: expected lengths of shape [2], got [4]");
}

TEST(OpErrors, Images) {
  EXPECT_ERROR(conv2d(f32({1, 4, 4, 3}), f32({5, 3, 3, 2}), {}, {.height = 3, .width = 3}),
               "conv2d: expected the weight of shape [5,3,3,3], got [5,3,3,2]");
  EXPECT_ERROR(pool2d(PoolOp::kMaximum, f32({1, 2, 2, 3}), {.height = 3, .width = 1}),
               "pool2d: expected an image of at least 3 with padding 0 and 0, got 2");
  EXPECT_ERROR(pool2d(PoolOp::kMaximum, f32({1, 2, 2, 3}), {.height = 1, .width = 1, .pad_y = 1}),
               "pool2d: expected a window and stride above 0 and a padding below the window, got 1, 1 and 1 to 1");
  EXPECT_ERROR(pool2d(PoolOp::kMaximum, f32({1, 2, 2, 3}), {.height = 2, .width = 2, .extra_x = 2}),
               "pool2d: expected a window and stride above 0 and a padding below the window, got 2, 1 and 0 to 2");
  EXPECT_ERROR(same_padding({.height = 3, .stride_y = 0}, 4, 4),
               "same_padding: expected sizes above 0, got 4, 3 and 0");
  EXPECT_ERROR(depthwise_conv2d(f32({1, 4, 4, 3}), f32({3, 3, 2}), {}, {.height = 3, .width = 3}),
               "depthwise_conv2d: expected the weight of shape [3,3,3], got [3,3,2]");
  EXPECT_ERROR(depthwise_conv1d(f32({5, 2, 4}), f32({3, 2}), {}, 1),
               "depthwise_conv1d: expected the weight of shape [3,4], got [3,2]");
}

TEST(OpErrors, DevicesThisBuildLacks) {
  EXPECT_ERROR(kernels(Device::cuda()), "cuda: this build has no CUDA; configure with -DFOVEA_CUDA=ON");
}

TEST(Precision, Int8IsForDecodingAlone) {
  const PrecisionScope scope(Precision::kInt8);
  EXPECT_EQ(product_precision(), Precision::kInt8);
  Tape tape(Device::cpu());
  tape.reset();
  const TapeScope tape_scope(tape);
  EXPECT_EQ(product_precision(), Precision::kBF16);
}

}  // namespace
}  // namespace fovea
