// Signs of a translation that is not one.
#include "decode/warnings.h"

#include <gtest/gtest.h>

#include <limits>

namespace fovea {
namespace {

using Ids = std::vector<int32_t>;

TEST(RepeatedTokens, CountsWhatFollowsItself) {
  EXPECT_EQ(repeated_tokens(Ids{}), 0);
  EXPECT_EQ(repeated_tokens(Ids{1, 2, 3, 1, 2, 3}), 0);  // twice is language
  EXPECT_EQ(repeated_tokens(Ids{9, 1, 2, 1, 2, 1, 2, 8}), 4);
  EXPECT_EQ(repeated_tokens(Ids{5, 5, 5, 5, 5}), 4);
  EXPECT_EQ(repeated_tokens(Ids{1, 2, 3, 4, 1, 2, 3, 4, 1, 2, 3, 4, 7}), 8);
}

std::vector<std::string> kinds(const Ids& source, const Ids& target, std::vector<HypothesisWeights> weights = {}) {
  Hypothesis hypothesis;
  hypothesis.ids = target;
  hypothesis.weights = std::move(weights);
  std::vector<std::string> kinds;
  for (const OutputWarning& w : output_warnings(source, hypothesis)) kinds.push_back(w.kind);
  return kinds;
}

TEST(OutputWarnings, RepetitionBeyondThatOfTheSource) {
  const Ids source = {4, 5, 6, 7, 8, 9}, looped = {4, 5, 4, 5, 4, 5, 4, 5};
  EXPECT_EQ(kinds(source, source), std::vector<std::string>{});
  EXPECT_EQ(kinds(source, looped), std::vector<std::string>{"repetition"});
  EXPECT_EQ(kinds(looped, looped), std::vector<std::string>{});
  EXPECT_EQ(kinds(source, {4, 4, 4}), std::vector<std::string>{});  // ha ha ha
}

TEST(OutputWarnings, Length) {
  Ids many(40);
  for (size_t i = 0; i < many.size(); ++i) many[i] = static_cast<int32_t>(i);
  EXPECT_EQ(kinds({4}, many), std::vector<std::string>{"length"});
  EXPECT_EQ(kinds(many, {4}), std::vector<std::string>{"length"});
  EXPECT_EQ(kinds({4}, Ids(many.begin(), many.begin() + 13)), std::vector<std::string>{});
  EXPECT_EQ(kinds(many, Ids(many.begin(), many.begin() + 10)), std::vector<std::string>{});
}

// Two rows that are alike, in two heads.
HypothesisWeights cross(const std::vector<float>& row) {
  HypothesisWeights weights{AttentionKind::kCross, 0, 2, 2, static_cast<int64_t>(row.size()), {}};
  for (int i = 0; i < 4; ++i) weights.weights.insert(weights.weights.end(), row.begin(), row.end());
  return weights;
}

TEST(OutputWarnings, AttentionOnNothingInParticular) {
  const Ids source = {4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<float> even(10, 0.1f), sharp = {0, 0, 0, 0.8f, 0, 0, 0, 0, 0, 0.2f},
                                           end = {0, 0, 0, 0, 0, 0, 0, 0, 0.05f, 0.95f};
  EXPECT_EQ(kinds(source, source, {cross(sharp)}), std::vector<std::string>{});
  EXPECT_EQ(kinds(source, source, {cross(even)}), std::vector<std::string>{"attention"});
  EXPECT_EQ(kinds(source, source, {cross(end)}), std::vector<std::string>{"attention"});
  EXPECT_EQ(kinds({4, 5}, {4, 5}, {cross({0, 0, 1})}), std::vector<std::string>{});  // too short to judge
  Hypothesis two;
  two.weights = {cross({0.25f, 0.5f, 0.25f}), cross({1, 0, 0})};  // two layers: the mean is 0.625, 0.25
  EXPECT_DOUBLE_EQ(attention_concentration(two), 0.625);
  two.weights[0].weights[0] = std::numeric_limits<float>::quiet_NaN();  // masked
  EXPECT_GT(attention_concentration(two), 0);
  EXPECT_LT(attention_concentration(Hypothesis{}), 0);
}

}  // namespace
}  // namespace fovea
