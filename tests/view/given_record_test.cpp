#include "view/given_record.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "view/record_file.h"
#include "view/record_view.h"

namespace fovea {
namespace {

GivenWeights given(const std::vector<float>& weights) {
  return {.source = {"▁the", "▁cat", "s", "</s>"}, .target = {"▁die", "▁Katzen"}, .weights = weights};
}

std::string refusal(const GivenWeights& weights) {
  try {
    record_of_weights(weights);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(GivenRecord, HasTokensTextAndWeights) {
  const std::vector<float> weights = {0.25f, 0.25f, 0.25f, 0.25f, 0, 0.5f, 0.5f, 0};
  const AttentionRecord record = record_of_weights(given(weights));
  EXPECT_EQ(record.source_text, "the cats");
  EXPECT_EQ(record.target_text, "die Katzen");
  EXPECT_FALSE(record.source[2].starts_word);
  EXPECT_EQ(record.source[2].begin, 7);
  EXPECT_TRUE(record.source[3].mark);
  EXPECT_EQ(record.attentions[0].weights, weights);
  const AttentionRecord again = record_from_json(to_json(record), "record");
  EXPECT_EQ(to_json(again), to_json(record));
  for (const std::string& name : record_views()) {
    if (name == "overlay" || name == "strip") continue;
    EXPECT_NE(record_svg(record, {.as = name}).find("Katzen"), std::string::npos) << name;
    EXPECT_NE(record_html(record, {.as = name}).find("Katzen"), std::string::npos) << name;
  }
  EXPECT_EQ(suitable_view(record, {}).as, "heatmap");
}

TEST(GivenRecord, MasksWhatACausalModelCannotSee) {
  const std::vector<float> weights = {1, 0, 0.5f, 0.5f};
  const AttentionRecord record = record_of_weights({.source = {"a", "b"}, .weights = weights, .causal = true});
  EXPECT_EQ(record.attentions[0].kind, "encoder-self");
  EXPECT_TRUE(std::isnan(record.attentions[0].weights[1]));
  EXPECT_EQ(record.attentions[0].weights[3], 0.5f);
}

TEST(GivenRecord, RefusesWhatIsNoAttention) {
  const std::vector<float> halves = {0.5f, 0, 0, 0, 0, 0.5f, 0.5f, 0}, negative = {1, 0, 0, 0, 2, -1, 0, 0}, few = {1};
  EXPECT_EQ(
      refusal(given(halves)),
      "record: expected the weights of each row to sum to 1, got 0.5000 in layer 1, head 1, row 1; any_sums accepts "
      "them as they are");
  EXPECT_NE(refusal(given(negative)).find("got -1 in layer 1, head 1, row 2, column 2"), std::string::npos);
  EXPECT_NE(refusal(given(few)).find("1 layers x 1 heads x 2 rows x 4 columns"), std::string::npos);
  EXPECT_NE(refusal({.source = {"\xff"}, .weights = few}).find("UTF-8"), std::string::npos);
  GivenWeights accepted = given(halves);
  accepted.any_sums = true;
  EXPECT_EQ(refusal(accepted), "");
}

}  // namespace
}  // namespace fovea
