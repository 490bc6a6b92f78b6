// Each backend against the reference in f64, outputs and gradients, in every dtype it computes in. The tolerance is a
// multiple of the epsilon of the dtype, relative to the largest magnitude compared.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cases.h"

namespace fovea::testing {
namespace {

struct Mode {
  const char* name;
  Setting setting;
  double epsilon;
  double Tolerance::*multiple;
};

constexpr double kF32Epsilon = 0x1p-23, kBf16Epsilon = 0x1p-8;

const Mode kModes[] = {
    {"reference_f32", {Device::reference(), DType::kF32}, kF32Epsilon, &Tolerance::f32},
    {"cpu_f32", {Device::cpu(), DType::kF32}, kF32Epsilon, &Tolerance::f32},
    {"cpu_bf16", {Device::cpu(), DType::kBF16}, kBf16Epsilon, &Tolerance::bf16},
    {"cpu_f32_with_bf16_products", {Device::cpu(), DType::kF32, Precision::kBF16}, kBf16Epsilon, &Tolerance::bf16},
    {"cuda_f32", {Device::cuda(), DType::kF32}, kF32Epsilon, &Tolerance::f32},
    {"cuda_bf16", {Device::cuda(), DType::kBF16}, kBf16Epsilon, &Tolerance::bf16},
    {"cuda_bf16_with_bf16_products", {Device::cuda(), DType::kBF16, Precision::kBF16}, kBf16Epsilon, &Tolerance::bf16},
    {"cuda_f32_with_bf16_products", {Device::cuda(), DType::kF32, Precision::kBF16}, kBf16Epsilon, &Tolerance::bf16},
};

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  // Inputs and weightings are of order 1: the error of a result that cancels to nothing is relative to 1, not to
  // itself.
  double magnitude = 0x1p-4;
  for (const double x : expected) magnitude = std::max(magnitude, std::isinf(x) ? 0.0 : std::abs(x));
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isinf(expected[i])) {
      ASSERT_EQ(got[i], expected[i]) << what << ", element " << i;
    } else {
      ASSERT_NEAR(got[i], expected[i], tolerance * magnitude) << what << ", element " << i;
    }
  }
}

class ParityTest : public ::testing::TestWithParam<size_t> {};

TEST_P(ParityTest, EqualsReference) {
  const Case& c = cases()[GetParam()];
  for (const Mode& mode : kModes) {
    if (!available(mode.setting.device)) continue;
    const auto inputs = input_values(c, mode.setting.dtype);
    const Outcome expected = run_case(c, {Device::reference(), DType::kF64}, inputs);
    const Outcome got = run_case(c, mode.setting, inputs);
    const double tolerance = mode.epsilon * c.tolerance.*mode.multiple;
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      expect_near(got.outputs[i], expected.outputs[i], tolerance, fmt::format("{}: output {}", mode.name, i));
    }
    for (size_t i = 0; i < expected.gradients.size(); ++i) {
      expect_near(got.gradients[i], expected.gradients[i], tolerance, fmt::format("{}: gradient {}", mode.name, i));
    }
  }
}

TEST(Parity, IncludesCuda) {
  if (!available(Device::cuda())) GTEST_SKIP() << "no card here, or a build without CUDA: cuda is not compared";
}

INSTANTIATE_TEST_SUITE_P(Cases, ParityTest, ::testing::Range(size_t{0}, cases().size()),
                         [](const auto& test) { return cases()[test.param].name; });

}  // namespace
}  // namespace fovea::testing
