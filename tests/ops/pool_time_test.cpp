// Pooling over time: what lengths leave out, and how attention pooling relates to the mean.
#include <gtest/gtest.h>

#include "ops/ops.h"

namespace fovea {
namespace {

using Floats = std::vector<float>;

TEST(PoolTime, LeavesOutStepsPastTheLength) {
  // Three steps of three sentences, with a last step that would win if it counted.
  const Var x = from_host(Floats{1, -5, 7, 3, -1, 7, 100, 100, 7}, {3, 3, 1}, Device::cpu());
  const Tensor lengths = from_host(std::vector<int32_t>{2, 2, 0}, {3}, Device::cpu());
  EXPECT_EQ(to_host<float>(pool_time(PoolOp::kAverage, x, lengths).value()), (Floats{2, -3, 0}));
  EXPECT_EQ(to_host<float>(pool_time(PoolOp::kMaximum, x, lengths).value()), (Floats{3, -1, 0}));
  EXPECT_EQ(to_host<float>(pool_time(PoolOp::kMaximum, x).value()), (Floats{100, 100, 7}));
}

TEST(PoolTime, AttentionPoolOfEqualScoresIsTheMean) {
  const Var x = from_host(Floats{1, 2, 3, 4, 5, 6, 7, 8}, {2, 2, 2}, Device::cpu());
  const Tensor lengths = from_host(std::vector<int32_t>{2, 1}, {2}, Device::cpu());
  const Attended pooled = attention_pool(zeros({2, 2, 1}, DType::kF32, Device::cpu()), x, lengths);
  EXPECT_EQ(to_host<float>(pooled.out.value()), to_host<float>(pool_time(PoolOp::kAverage, x, lengths).value()));
  EXPECT_EQ(pooled.out.shape(), (Shape{2, 2}));
  EXPECT_EQ(pooled.weights.shape(), (Shape{2, 1, 1, 2}));
  EXPECT_EQ(to_host<float>(pooled.weights), (Floats{0.5f, 0.5f, 1, 0}));
}

// Two heads pool the two halves of the vectors: the first one the first step, the second one the last.
TEST(PoolTime, AttentionPoolHasHeads) {
  const Var x = from_host(Floats{1, 2, 3, 4}, {2, 1, 2}, Device::cpu());
  const Var scores = from_host(Floats{50, -50, -50, 50}, {2, 1, 2}, Device::cpu());
  EXPECT_EQ(to_host<float>(attention_pool(scores, x).out.value()), (Floats{1, 4}));
}

}  // namespace
}  // namespace fovea
