// Each gradient, in f64 on the reference, against central differences of a randomly weighted sum of the outputs.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cases.h"

namespace fovea::testing {
namespace {

constexpr double kStep = 1e-5;
constexpr double kTolerance = 2e-7;  // relative to the larger of 1 and the gradient
constexpr size_t kMaxElements = 60;  // per input; larger inputs are sampled evenly

const Setting kReference{Device::reference(), DType::kF64};

double weighted_sum(const Case& c, const std::vector<std::vector<double>>& inputs) {
  const Outcome outcome = run_case(c, kReference, inputs, /*backward=*/false);
  double total = 0.0;
  for (size_t o = 0; o < outcome.outputs.size(); ++o) {
    const auto& y = outcome.outputs[o];
    const std::vector<double> weights = output_weights(o + 1, static_cast<int64_t>(y.size()));
    for (size_t i = 0; i < y.size(); ++i) total += std::isinf(y[i]) ? 0.0 : weights[i] * y[i];
  }
  return total;
}

class GradientTest : public ::testing::TestWithParam<size_t> {};

TEST_P(GradientTest, EqualsCentralDifferences) {
  const Case& c = cases()[GetParam()];
  std::vector<std::vector<double>> inputs = input_values(c, DType::kF64);
  const Outcome outcome = run_case(c, kReference, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!c.inputs[i].differentiable) continue;
    const size_t stride = std::max<size_t>(1, inputs[i].size() / kMaxElements);
    for (size_t j = 0; j < inputs[i].size(); j += stride) {
      const double kept = inputs[i][j];
      // Large inputs need a step that is not lost in the subtraction.
      const double step = kStep * std::max(1.0, std::abs(kept) * 1e-2);
      inputs[i][j] = kept + step;
      const double above = weighted_sum(c, inputs);
      inputs[i][j] = kept - step;
      const double below = weighted_sum(c, inputs);
      inputs[i][j] = kept;
      const double expected = (above - below) / (2.0 * step), got = outcome.gradients[i][j];
      const double noise = 1e-16 * (std::abs(above) + std::abs(below)) / step;
      ASSERT_NEAR(got, expected, kTolerance * std::max(1.0, std::abs(expected)) + 4 * noise)
          << c.name << ": input " << i << ", element " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, GradientTest, ::testing::Range(size_t{0}, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

}  // namespace
}  // namespace fovea::testing
