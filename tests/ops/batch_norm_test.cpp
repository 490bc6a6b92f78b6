// Batch norm against numbers worked out by hand, and folded into the convolution before it.
#include <gtest/gtest.h>

#include "base/random.h"
#include "ops/ops.h"

namespace fovea {
namespace {

Tensor floats(const std::vector<float>& x, const Shape& shape) { return from_host(x, shape, Device::cpu()); }

Tensor random_tensor(const Shape& shape, Random& random, double low = -1.0, double high = 1.0) {
  std::vector<float> x(static_cast<size_t>(shape.count()));
  for (float& element : x) element = static_cast<float>(random.uniform(low, high));
  return floats(x, shape);
}

void expect_near(const Tensor& got, const std::vector<float>& expected, float tolerance = 1e-6f) {
  const std::vector<float> x = to_host<float>(got);
  ASSERT_EQ(x.size(), expected.size());
  for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], expected[i], tolerance) << i;
}

// Two channels: 1 and 3 have mean 2 and variance 1; 4 and 8 have mean 6 and variance 4. Divided by N - 1, the
// variances are 2 and 8.
TEST(BatchNorm, TrainsWithTheBatchAndEvaluatesWithRunningAverages) {
  const Var x = floats({1, 4, 3, 8}, {2, 2}), gamma = floats({2, 3}, {2}), beta = floats({0, 1}, {2});
  const RunningStatistics running{floats({0, 0}, {2}), floats({1, 1}, {2})};
  Tape tape(Device::cpu());
  tape.reset();
  {
    const TapeScope tape_scope(tape);
    expect_near(batch_norm(x, gamma, beta, running, 0.1f, 0.0f).value(), {-2, -2, 2, 4});
  }
  expect_near(running.mean, {0.2f, 0.6f});
  expect_near(running.variance, {1.1f, 1.7f});
  // Nothing records: the running averages are used and stay as they are.
  const RunningStatistics set{floats({1, 2}, {2}), floats({4, 1}, {2})};
  expect_near(batch_norm(x, gamma, beta, set, 0.1f, 0.0f).value(), {0, 7, 2, 19});
  expect_near(set.mean, {1, 2});
  expect_near(set.variance, {4, 1});
}

TEST(BatchNorm, FoldedIntoAConvolutionGivesTheSameResult) {
  Random random(5);
  const Window window{.height = 3, .width = 2, .pad_y = 1};
  const Var x = random_tensor({2, 5, 6, 4}, random);
  for (const bool depthwise : {false, true}) {
    for (const bool biased : {false, true}) {
      const int64_t channels = depthwise ? 4 : 7;
      const Shape filter = depthwise ? Shape{3, 2, 4} : Shape{7, 3, 2, 4};
      const ConvParameters conv{random_tensor(filter, random), biased ? Var(random_tensor({channels}, random)) : Var()};
      const Var gamma = random_tensor({channels}, random), beta = random_tensor({channels}, random);
      const RunningStatistics running{random_tensor({channels}, random), random_tensor({channels}, random, 0.1, 2.0)};
      const auto convolve = [&](const ConvParameters& p) {
        return depthwise ? depthwise_conv2d(x, p.weight, p.bias, window) : conv2d(x, p.weight, p.bias, window);
      };
      const Var expected = batch_norm(convolve(conv), gamma, beta, running, 0.1f, 1e-3f);
      const Var folded = convolve(fold_batch_norm(conv, gamma, beta, running, 1e-3f));
      expect_near(folded.value(), to_host<float>(expected.value()), 1e-5f);
    }
  }
}

}  // namespace
}  // namespace fovea
