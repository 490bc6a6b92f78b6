// Permute, gather and scatter-add on numbers that can be followed by eye, on the reference and on the CPU.
#include <gtest/gtest.h>

#include "ops/ops.h"

namespace fovea {
namespace {

class Indexing : public testing::TestWithParam<Device> {
 protected:
  static Tensor floats(const std::vector<float>& x, const Shape& shape) { return from_host(x, shape, GetParam()); }
  static Tensor index(const std::vector<int32_t>& x, const Shape& shape) { return from_host(x, shape, GetParam()); }
};
using Floats = std::vector<float>;

TEST_P(Indexing, PermuteReordersAxes) {
  const Var x = floats({0, 1, 2, 3, 4, 5}, {1, 2, 3});
  const Var y = permute(x, {2, 0, 1});
  EXPECT_EQ(y.shape(), (Shape{3, 1, 2}));
  EXPECT_EQ(to_host<float>(y.value()), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST_P(Indexing, PermuteOfAxesOfSizeOneCopiesNothing) {
  const Var x = floats({0, 1, 2, 3, 4, 5}, {2, 1, 3});
  const Var y = permute(x, {1, 0, 2});
  EXPECT_EQ(y.shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(y.value().raw(), x.value().raw());
}

// The last state of each sentence in [T,B,D].
TEST_P(Indexing, GatherPicksAStepOfEachSentence) {
  const Var states = floats({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 2, 2});
  const Var last = gather(states, 0, index({2, 0}, {1, 2, 1}));
  EXPECT_EQ(last.shape(), (Shape{1, 2, 2}));
  EXPECT_EQ(to_host<float>(last.value()), (Floats{8, 9, 2, 3}));
}

// Attention weights [T,B,S] of source tokens onto a vocabulary: a token that occurs twice gets both weights.
TEST_P(Indexing, ScatterAddCopiesAttentionOntoTheVocabulary) {
  const Var logits = floats({1, 0, 0, 0, 0, 0, 0, 2}, {2, 1, 4});
  const Var weights = floats({0.25f, 0.5f, 0.25f, 1, 2, 4}, {2, 1, 3});
  const Var y = scatter_add(logits, -1, index({3, 1, 3}, {1, 1, 3}), weights);
  EXPECT_EQ(to_host<float>(y.value()), (Floats{1, 0.5f, 0, 0.5f, 0, 2, 0, 7}));
  EXPECT_EQ(to_host<float>(logits.value()), (Floats{1, 0, 0, 0, 0, 0, 0, 2}));
}

INSTANTIATE_TEST_SUITE_P(Devices, Indexing, testing::Values(Device::reference(), Device::cpu()),
                         [](const auto& test) { return test.param == Device::cpu() ? "cpu" : "reference"; });

}  // namespace
}  // namespace fovea
