// These checks iterate over the table: a kernel that no case runs, in any backend, fails here. The kernels that a case
// claims to cover are counted, not trusted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/cases.h"
#include "kernels/profile.h"
#include "nn/parameters.h"
#include "train/optimiser.h"

namespace fovea::testing {
namespace {

// Kernels without a gradient; train/optimiser_test.cpp and ops/sampling_test.cpp check them.
const std::set<std::string> kWithoutGradient = {"squared_norm", "sgd", "adam", "sample", "top_k"};

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
  std::set<std::string> covered = kWithoutGradient;
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

std::vector<Device> backends() {
  std::vector<Device> all = {Device::reference(), Device::cpu(), Device::cuda()};
  std::erase_if(all, [](Device device) { return !available(device); });
  return all;
}
std::string backend_name(const ::testing::TestParamInfo<Device>& test) {
  constexpr const char* kNames[] = {"reference", "cpu", "cuda"};
  return kNames[static_cast<int>(test.param.kind)];
}
INSTANTIATE_TEST_SUITE_P(Backends, CoverageTest, ::testing::ValuesIn(backends()), backend_name);

template <class Args> void do_nothing(Stream&, const Args&) {}

// This check can fail: if any gradient kernel is left out, some case that claims it fails.
TEST(Coverage, AMissingGradientIsNoticed) {
  const Setting setting{Device::reference(), DType::kF64};
  const auto noticed = [&](const std::string& name, const KernelTable& broken) {
    for (const Case& c : cases()) {
      if (std::find(c.covers.begin(), c.covers.end(), name) == c.covers.end()) continue;
      const auto inputs = input_values(c, DType::kF64);
      const Outcome right = run_case(c, setting, inputs);
      replace_kernels(Device::reference(), &broken);
      const Outcome wrong = run_case(c, setting, inputs);
      replace_kernels(Device::reference(), nullptr);
      for (size_t i = 0; i < right.gradients.size(); ++i) {
        for (size_t j = 0; j < right.gradients[i].size(); ++j) {
          if (!(std::abs(right.gradients[i][j] - wrong.gradients[i][j]) < 1e-3)) return true;
        }
      }
    }
    return false;
  };
#define FOVEA_LEAVE_OUT(name, Args)                    \
  if (std::string_view(#name).ends_with("_grad")) {    \
    KernelTable broken = kernels(Device::reference()); \
    broken.name = do_nothing<Args>;                    \
    EXPECT_TRUE(noticed(#name, broken)) << #name;      \
  }
  FOVEA_KERNELS(FOVEA_LEAVE_OUT)
#undef FOVEA_LEAVE_OUT
}

}  // namespace
}  // namespace fovea::testing
