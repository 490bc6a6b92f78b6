// The optimisers against their equations, and the kernels of the CPU against the reference.
#include "train/optimiser.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fovea {
namespace {

using Kind = OptimiserOptions::Kind;

// Runs some steps on a matrix (which decays) and a vector (which does not) with fixed gradients.
std::vector<double> run(Device device, DType dtype, const OptimiserOptions& options, int steps) {
  Parameters parameters(device, dtype);
  parameters.add("matrix", {37, 3}, Initialiser::uniform(1.0));
  parameters.add("vector", {19}, Initialiser::uniform(1.0));
  parameters.allocate(5);
  Optimiser optimiser(parameters, options);
  for (int step = 0; step < steps; ++step) {
    for (const Parameter& p : parameters.list()) {
      Random random(17, static_cast<uint64_t>(step));
      std::vector<float> grad(static_cast<size_t>(p.shape().count()));
      for (float& g : grad) g = static_cast<float>(random.uniform(-1, 1));
      const std::vector<double> wide(grad.begin(), grad.end());
      copy(dtype == DType::kF64 ? from_host(wide, p.shape(), device) : from_host(grad, p.shape(), device), p.grad());
    }
    optimiser.step(0.01f);
  }
  std::vector<double> values;
  for (const Parameter& p : parameters.list()) {
    if (dtype == DType::kF64) {
      for (const double x : to_host<double>(p.value())) values.push_back(x);
      for (const double x : to_host<double>(p.grad())) EXPECT_EQ(x, 0.0);
    } else {
      for (const float x : to_host<float>(p.value())) values.push_back(static_cast<double>(x));
      for (const float x : to_host<float>(p.grad())) EXPECT_EQ(x, 0.0f);
    }
  }
  return values;
}

const OptimiserOptions kAll[] = {
    {.kind = Kind::kSgd},
    {.kind = Kind::kSgd, .clip_norm = 0.5f, .weight_decay = 0.1f, .momentum = 0.9f},
    {.kind = Kind::kAdam},
    {.kind = Kind::kAdam, .clip_norm = 0.5f, .weight_decay = 0.1f},
    {.kind = Kind::kAdamW, .clip_norm = 100.0f, .weight_decay = 0.1f},
};

class OptimiserTest : public ::testing::TestWithParam<size_t> {};

TEST_P(OptimiserTest, TheCpuEqualsTheReference) {
  const auto expected = run(Device::reference(), DType::kF64, kAll[GetParam()], 4);
  const auto got = run(Device::cpu(), DType::kF32, kAll[GetParam()], 4);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 8 * 0x1p-23) << i;
}

INSTANTIATE_TEST_SUITE_P(Options, OptimiserTest, ::testing::Range(size_t{0}, std::size(kAll)));

// One parameter, two steps, by the papers' equations.
TEST(Optimiser, AdamWFollowsItsEquations) {
  const OptimiserOptions options{.kind = Kind::kAdamW, .clip_norm = 1.0f, .weight_decay = 0.1f};
  Parameters parameters(Device::reference(), DType::kF64);
  const Parameter& p = parameters.add("p", {1, 1}, Initialiser::constant(2.0));
  parameters.allocate(1);
  Optimiser optimiser(parameters, options);
  double x = 2.0, m = 0.0, v = 0.0;
  const double b1 = options.beta1, b2 = options.beta2, rate = 0.25f, decay = options.weight_decay;
  for (int t = 1; t <= 2; ++t) {
    const double raw = t == 1 ? 4.0 : -0.5, g = raw * std::min(1.0, 1.0 / std::abs(raw));
    p.grad().data<double>()[0] = raw;
    optimiser.step(0.25f);
    EXPECT_DOUBLE_EQ(optimiser.grad_norm(), std::abs(raw));
    m = b1 * m + (1 - b1) * g;
    v = b2 * v + (1 - b2) * g * g;
    x -= rate * decay * x;
    x -= rate * (m / (1 - std::pow(b1, t))) / (std::sqrt(v / (1 - std::pow(b2, t))) + double{options.epsilon});
    EXPECT_NEAR(p.value().data<double>()[0], x, 1e-9);
  }
}

TEST(Optimiser, SaysThatWeightsChanged) {
  Parameters parameters(Device::cpu());
  parameters.add("p", {4}, Initialiser::constant(1.0));
  parameters.allocate(1);
  Optimiser optimiser(parameters, {});
  const uint64_t before = parameters.values().buffer()->version();
  optimiser.step(0.1f);
  EXPECT_GT(parameters.values().buffer()->version(), before);
}

}  // namespace
}  // namespace fovea
