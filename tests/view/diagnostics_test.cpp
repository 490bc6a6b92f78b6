// The names of diagnostics, and alignments read off attention that was written by hand.
#include "view/diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "view/align.h"

namespace fovea {
namespace {

// The numbers themselves are in tests/view/cases/diagnostics.json.
TEST(Diagnose, NumbersHaveNames) {
  Grid grid;
  grid.rows.resize(1);
  grid.columns.resize(2);
  grid.weights = {0.75f, 0.25f};
  const Diagnostics d = diagnose(grid);
  EXPECT_EQ(d.named("peak"), 0.75);
  EXPECT_EQ(d.named("coverage-deviation"), d.coverage_deviation);
  for (const std::string& name : Diagnostics::names()) EXPECT_TRUE(std::isfinite(d.named(name))) << name;
  EXPECT_FALSE(Diagnostics::higher_is_worse("confidence"));
  EXPECT_TRUE(Diagnostics::higher_is_worse("entropy"));
}

TEST(Align, CountsWordsByWhiteSpace) {
  AttentionRecord record;
  record.source_text = "das Haus", record.target_text = "the ho use";
  record.source = {
      {"das", 0, 3}, {"Ha", 4, 6}, {"us", 6, 8, false}, {.text = "</s>", .begin = 8, .end = 8, .mark = true}};
  record.target = {{"the", 0, 3}, {"ho", 4, 6}, {"use", 7, 10}, {.text = "</s>", .begin = 10, .end = 10, .mark = true}};
  RecordedAttention cross{.kind = "cross", .rows = 4, .columns = 4};
  cross.weights = {0.6f, 0, 0.3f, 0.1f, 0.4f, 0.3f, 0.3f, 0, 0.1f, 0, 0.15f, 0.75f, 0, 0, 0, 1};
  record.attentions = {cross};
  EXPECT_EQ(align(record, {}, {}), (Alignment{{0, 0}, {1, 1}, {1, 2}}));
  EXPECT_EQ(align(record, {}, {.method = "threshold", .threshold = 0.3}), (Alignment{{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_EQ(align(record, {}, {.count = "pieces"}), (Alignment{{0, 0}, {0, 1}, {2, 2}}));
  // By the step after each token: "use" is read by the step of the end mark, which attends to no word.
  EXPECT_EQ(align(record, {.step = "input"}, {}), (Alignment{{1, 0}, {1, 1}}));
  record.attentions[0].best = {"mean", 0, 0, "input"};
  EXPECT_EQ(align(record, {.heads = "best"}, {}), (Alignment{{1, 0}, {1, 1}}));
  EXPECT_EQ(align(record, {.heads = "best", .step = "output"}, {}), (Alignment{{0, 0}, {1, 1}, {1, 2}}));
}

// In Chinese every token counts as a word, unless spaces separate words.
TEST(Align, CountsTokensWhereAScriptHasNoSpaces) {
  AttentionRecord record;
  record.source_text = "I love it", record.target_text = "我爱它";
  record.source = {{"I", 0, 1}, {"love", 2, 6}, {"it", 7, 9}};
  record.target = {{"我", 0, 1}, {"爱", 1, 2}, {"它", 2, 3}};
  RecordedAttention cross{.kind = "cross", .rows = 3, .columns = 3};
  cross.weights = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  record.attentions = {cross};
  EXPECT_EQ(align(record, {}, {}), (Alignment{{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_EQ(align(record, {}, {.count = "spaces"}), (Alignment{{0, 0}}));
  // The text is segmented: 爱它 is one of two words.
  record.target_text = "我 爱它";
  record.target = {{"我", 0, 1}, {"爱", 2, 3}, {"它", 3, 4}};
  EXPECT_EQ(align(record, {}, {}), (Alignment{{0, 0}, {1, 1}}));
  // Spaces around another script separate no Chinese words.
  record.target_text = "爱 it 它";
  record.target = {{"爱", 0, 1}, {"it", 2, 4}, {"它", 5, 6}};
  EXPECT_EQ(align(record, {}, {}), (Alignment{{0, 0}, {1, 1}, {2, 2}}));
}

}  // namespace
}  // namespace fovea
