// Sparsemax on rows where rounding decides who belongs to the support, and on rows that are no numbers.
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "ops/ops.h"

namespace fovea {
namespace {

std::vector<float> weights_of(const std::vector<float>& scores, Device device = Device::cpu()) {
  const auto keys = static_cast<int64_t>(scores.size());
  return to_host<float>(sparsemax(from_host(scores, {1, 1, 1, keys}, device)).value());
}

TEST(Sparsemax, EndsWhenAScoreLiesWithinRoundingOfTheThreshold) {
  for (const std::vector<float>& row : {std::vector<float>{0, -0x1.589c0ep-2f, -0x1.562702p-1f},
                                        {0, -0x1.42484cp-1f, -0x1.f6763cp-3f, -0x1.3ecec6p-1f},
                                        {0, -0x1.c82272p-4f, -0x1.a95cfp-1f, -0x1.3e5a5ap-1f, -0x1.1c8226p-1f}}) {
    const std::vector<float> weights = weights_of(row), expected = weights_of(row, Device::reference());
    for (size_t s = 0; s < row.size(); ++s) EXPECT_NEAR(weights[s], expected[s], 1e-6f) << s;
  }
}

TEST(Sparsemax, EndsOnRowsThatAreNoNumbers) {
  const float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float>& row : {std::vector<float>{nan, nan, nan}, {0, nan, 1}, {infinite, 0, infinite}})
    EXPECT_EQ(weights_of(row).size(), row.size());
}

}  // namespace
}  // namespace fovea
