#include "nn/parameters.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace fovea {
namespace {

TEST(Parameters, LieInOneBufferWithTheDecayingFirst) {
  Parameters parameters(Device::cpu());
  const Parameter& bias = parameters.add("bias", {5}, Initialiser::constant(2.0));
  const Parameter& weight = parameters.add("weight", {3, 5}, Initialiser::glorot());
  parameters.allocate(1);
  EXPECT_EQ(weight.value().raw(), parameters.values().raw());
  EXPECT_EQ(bias.value().raw(), parameters.values().raw() + 16 * 4);
  EXPECT_EQ(parameters.decaying(), 16);
  EXPECT_EQ(parameters.count(), 20);
  EXPECT_EQ(to_host<float>(bias.value()), std::vector<float>(5, 2.0f));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(bias.value().raw()) % kAlignment, 0u);
  EXPECT_EQ(&parameters.find("bias"), &bias);
}

TEST(Parameters, AreOneWhereTheyLieOneAfterTheOther) {
  Parameters parameters(Device::cpu());
  const Parameter& a = parameters.add("a", {2, 16}, Initialiser::glorot());
  const Parameter& bias = parameters.add("bias", {5}, Initialiser::constant(2.0));
  const Parameter& b = parameters.add("b", {3, 16}, Initialiser::glorot());
  const Parameter& more = parameters.add("more", {5}, Initialiser::constant(3.0));
  const FusedParameters& both = parameters.fuse({&a, &b});
  const FusedParameters& apart = parameters.fuse({&bias, &more});  // five elements do not fill a line
  const FusedParameters& turned = parameters.fuse({&b, &a});
  parameters.allocate(1);
  ASSERT_TRUE(both);
  EXPECT_FALSE(apart);
  EXPECT_FALSE(turned);
  const Var joined = both.var();
  EXPECT_EQ(joined.shape(), (Shape{5, 16}));
  EXPECT_EQ(joined.value().raw(), a.value().raw());
  EXPECT_EQ(joined.value()[2].raw(), b.value().raw());
  EXPECT_EQ(joined.grad()[2].raw(), b.grad().raw());
}

TEST(Parameters, BeginTheSameForTheSameSeed) {
  const auto make = [](uint64_t seed, Device device) {
    Parameters parameters(device);
    parameters.add("a", {4, 4}, Initialiser::normal(0.5));
    parameters.add("b", {4, 4}, Initialiser::uniform(0.5));
    parameters.allocate(seed);
    return to_host<float>(parameters.values());
  };
  EXPECT_EQ(make(3, Device::cpu()), make(3, Device::reference()));
  EXPECT_NE(make(3, Device::cpu()), make(4, Device::cpu()));
}

TEST(Parameters, OrthogonalBlocksHaveOrthonormalRows) {
  Parameters parameters(Device::reference(), DType::kF64);
  const Parameter& w = parameters.add("w", {21, 7}, Initialiser::orthogonal());
  parameters.allocate(1);
  const double* x = w.value().data<double>();
  for (int64_t block = 0; block < 3; ++block) {
    for (int64_t i = 0; i < 7; ++i) {
      for (int64_t j = 0; j < 7; ++j) {
        double dot = 0.0;
        for (int64_t k = 0; k < 7; ++k) dot += x[(block * 7 + i) * 7 + k] * x[(block * 7 + j) * 7 + k];
        EXPECT_NEAR(dot, i == j ? 1.0 : 0.0, 1e-12);
      }
    }
  }
}

TEST(Parameters, GlorotStaysInItsBounds) {
  Parameters parameters(Device::cpu());
  const Parameter& w = parameters.add("w", {40, 60}, Initialiser::glorot());
  parameters.allocate(1);
  float largest = 0.0f;
  for (const float x : to_host<float>(w.value())) largest = std::max(largest, std::abs(x));
  EXPECT_LE(largest, std::sqrt(6.0f / 100.0f));
  EXPECT_GT(largest, 0.95f * std::sqrt(6.0f / 100.0f));
}

TEST(Parameters, RefuseMisuse) {
  Parameters parameters(Device::cpu());
  const Parameter& w = parameters.add("w", {2}, Initialiser::constant(0.0));
  EXPECT_ERROR(parameters.add("w", {2}, Initialiser::constant(0.0)), "parameters: expected a new name, got w again");
  EXPECT_ERROR(w.var(), "parameters: expected allocate() before w is used");
  parameters.allocate(1);
  EXPECT_ERROR(parameters.add("late", {2}, Initialiser::constant(0.0)),
               "parameters: expected late to be added before allocate()");
  EXPECT_ERROR(parameters.find("none"), "parameters: expected a known name, got none");
}

}  // namespace
}  // namespace fovea
