#include "evaluate/mbr.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "evaluate/chrf.h"
#include "support.h"

namespace fovea {
namespace {

size_t best(const std::vector<std::string>& candidates, const std::vector<double>& weights = {},
            Utility utility = Utility::kChrf) {
  const std::vector<double> utilities = expected_utilities(candidates, weights, utility);
  return static_cast<size_t>(std::max_element(utilities.begin(), utilities.end()) - utilities.begin());
}

TEST(MbrTest, TheCandidateThatAgreesWithTheOthers) {
  const std::vector<std::string> candidates = {"an outlier of its own", "the cat sat on the mat",
                                               "the cat sat on a mat", "a cat sat on the mat"};
  EXPECT_EQ(best(candidates), 1u);
  EXPECT_EQ(best(candidates, {}, Utility::kBleu), 1u);
  EXPECT_EQ(best(candidates, {1000, 1, 1, 1}), 0u);
  EXPECT_NE(best({"我爱你。", "完全不同", "我很爱你。"}, {}, Utility::kBleu), 1u);
}

TEST(MbrTest, UtilitiesAreMeansOverTheEvidence) {
  const double ab = sentence_chrf({"abcdef", {"abcxyz"}}).score;
  const std::vector<double> utilities =
      expected_utilities(std::vector<std::string>{"abcdef", "abcxyz", "abcxyz"}, {}, Utility::kChrf);
  EXPECT_NEAR(utilities[0], (100 + 2 * ab) / 3, 1e-9);
  EXPECT_DOUBLE_EQ(utilities[1], utilities[2]);
  EXPECT_ERROR(expected_utilities(std::vector<std::string>{"a"}, std::vector<double>{1, 2}, Utility::kChrf),
               "expected a weight for each");
  EXPECT_ERROR(utility_named("wer"), "expected chrf or bleu");
}

}  // namespace
}  // namespace fovea
