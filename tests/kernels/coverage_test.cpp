// The checks walk the table: a kernel that no case runs, in any backend, fails here. What a case says it
// covers is not believed but counted.
#include <gtest/gtest.h>

#include <set>

#include "kernels/cases.h"
#include "kernels/profile.h"
#include "nn/parameters.h"
#include "train/optimiser.h"

namespace fovea::testing {
namespace {

// Checked by train/optimiser_test.cpp: they have no gradient.
const std::set<std::string> kOptimisers = {"squared_norm", "sgd", "adam"};

std::set<std::string> table_entries() {
  std::set<std::string> names;
#define FOVEA_ADD_NAME(name, Args) names.insert(#name);
  FOVEA_KERNELS(FOVEA_ADD_NAME)
#undef FOVEA_ADD_NAME
  return names;
}

std::set<std::string> called(const KernelProfile& profile) {
  std::set<std::string> names;
  for (const auto& entry : profile.entries()) {
    if (entry.calls > 0) names.insert(std::string(entry.name));
  }
  return names;
}

class CoverageTest : public ::testing::TestWithParam<Device> {};

TEST_P(CoverageTest, EveryKernelIsCalledByTheCasesThatClaimIt) {
  std::set<std::string> covered = kOptimisers;
  const DType dtype = GetParam() == Device::reference() ? DType::kF64 : DType::kF32;
  for (const Case& c : cases()) {
    const auto inputs = input_values(c, dtype);
    const KernelProfile profile(GetParam());
    run_case(c, {GetParam(), dtype}, inputs);
    const std::set<std::string> names = called(profile);
    for (const std::string& name : c.covers) {
      EXPECT_TRUE(names.contains(name)) << c.name << " never calls " << name;
      covered.insert(name);
    }
  }
  EXPECT_EQ(covered, table_entries());
}

INSTANTIATE_TEST_SUITE_P(Backends, CoverageTest, ::testing::Values(Device::reference(), Device::cpu()),
                         [](const auto& test) { return fmt::format("{}", test.param); });

}  // namespace
}  // namespace fovea::testing
