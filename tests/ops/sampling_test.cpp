// One-hot samples and top_k, which have no gradient to check, on both host backends.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/ops.h"
#include "support.h"

namespace fovea {
namespace {

class SamplingTest : public ::testing::TestWithParam<Device> {};

Tensor floats(const std::vector<float>& x, const Shape& shape) { return from_host(x, shape, SamplingTest::GetParam()); }

TEST_P(SamplingTest, TakesTheLargestAndTheFirstOfEqualOnes) {
  const Tensor weights = floats({0.1f, 0.5f, 0.4f, 0.3f, 0.2f, 0.3f, 0.0f, 0.0f, 0.0f}, {3, 3});
  EXPECT_EQ(to_host<float>(sample_one_hot(weights, false, false).value()),
            (std::vector<float>{0, 1, 0, 1, 0, 0, 0, 0, 0}));
}

TEST_P(SamplingTest, SamplesInProportionToTheWeights) {
  constexpr int64_t kRows = 20000;
  std::vector<float> rows;
  for (int64_t i = 0; i < kRows; ++i) rows.insert(rows.end(), {0.2f, 0.0f, 0.7f, 0.1f});
  Tape tape(GetParam());
  tape.reset();
  const TapeScope tape_scope(tape);
  const auto samples = to_host<float>(sample_one_hot(floats(rows, {kRows, 4}), true, false).value());
  double counts[4] = {};
  for (size_t i = 0; i < samples.size(); ++i) counts[i % 4] += static_cast<double>(samples[i]) / kRows;
  EXPECT_NEAR(counts[0], 0.2, 0.01);
  EXPECT_EQ(counts[1], 0.0);
  EXPECT_NEAR(counts[2], 0.7, 0.01);
  EXPECT_NEAR(counts[3], 0.1, 0.01);
}

TEST_P(SamplingTest, PassesTheGradientStraightThroughOnlyOnRequest) {
  const Tensor value = floats({0.1f, 0.5f, 0.4f}, {1, 3}), dy = floats({1, 2, 3}, {1, 3});
  Gradient gradient(value);
  Tape tape(GetParam());
  tape.reset();
  const TapeScope tape_scope(tape);
  EXPECT_FALSE(sample_one_hot(Var(value, &gradient), false, false).needs_grad());
  const Tape::Seed seed{sample_one_hot(Var(value, &gradient), false, true), dy};
  tape.backward(std::span(&seed, 1));
  EXPECT_EQ(to_host<float>(gradient.sum), (std::vector<float>{1, 2, 3}));
}

TEST_P(SamplingTest, TopKSortsAndBreaksTiesByPlace) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const TopK short_rows = top_k(floats({3, 1, 3, nan, -inf, 2}, {2, 3}), 4);
  EXPECT_EQ(to_host<int32_t>(short_rows.index), (std::vector<int32_t>{0, 2, 1, -1, 2, 1, -1, -1}));
  EXPECT_EQ(to_host<float>(short_rows.values)[3], -inf);
  Random random(3);
  std::vector<float> x(2003);
  for (float& element : x) element = static_cast<float>(random.below(500));
  const TopK got = top_k(floats(x, {1, 2003}), 9);
  std::vector<int32_t> order(x.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return x[static_cast<size_t>(a)] > x[static_cast<size_t>(b)]; });
  order.resize(9);
  EXPECT_EQ(to_host<int32_t>(got.index), order);
}

TEST_P(SamplingTest, RefusesWhatItCannotDo) {
  EXPECT_ERROR(top_k(floats({1, 2}, {2}), 0), "top_k: expected a k of at least 1, got 0");
  EXPECT_ERROR(sample_one_hot(zeros({2}, DType::kI32, GetParam()), false, false),
               "sample_one_hot: expected weights of f32, bf16 or f64, got i32");
  EXPECT_ERROR(rotary(zeros({2, 1, 6}, DType::kF32, GetParam()), 2), "rotary: expected heads of an even depth, got 3");
  EXPECT_ERROR(relative_score(zeros({2, 1, 6}, DType::kF32, GetParam()), zeros({4, 3}, DType::kF32, GetParam()), 5, 2),
               "relative_score: expected distances [2w+1,3], got [4,3]");
}

INSTANTIATE_TEST_SUITE_P(Backends, SamplingTest, ::testing::Values(Device::reference(), Device::cpu()),
                         [](const auto& test) { return fmt::format("{}", test.param); });

}  // namespace
}  // namespace fovea
