// Diagnostics and alignments read off hand-made attention.
#include "view/diagnostics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "view/align.h"

namespace fovea {
namespace {

Grid grid_of(int64_t rows, int64_t columns, const std::vector<float>& weights) {
  Grid grid;
  grid.rows.resize(static_cast<size_t>(rows));
  grid.columns.resize(static_cast<size_t>(columns));
  grid.weights = weights;
  return grid;
}

TEST(Diagnose, SharpAttentionThatCoversAllIsWell) {
  const Diagnostics d = diagnose(grid_of(2, 2, {1, 0, kAbsent, 1}));
  EXPECT_NEAR(d.entropy, 0, 1e-12);
  EXPECT_NEAR(d.peak, 1, 1e-12);
  EXPECT_NEAR(d.coverage_deviation, 0, 1e-12);
  EXPECT_NEAR(d.absent_in, 0, 1e-12);
  EXPECT_NEAR(d.confidence, 1, 1e-12);
}

TEST(Diagnose, OfAHandWorkedCase) {
  // Rows (.5 .5) and (1 0): columns sum to 1.5 and 0.5.
  const Diagnostics d = diagnose(grid_of(2, 2, {0.5f, 0.5f, 1, 0}));
  const double half = std::log(2.0) / 2;
  EXPECT_NEAR(d.absent_out, half, 1e-12);
  EXPECT_NEAR(d.entropy, 0.5, 1e-12);
  EXPECT_NEAR(d.peak, 0.75, 1e-12);
  EXPECT_NEAR(d.coverage_deviation, std::log(1.25), 1e-12);
  const double third = -(std::log(1.0 / 3) / 3 + 2 * std::log(2.0 / 3) / 3);
  EXPECT_NEAR(d.absent_in, third / 2, 1e-12);
  EXPECT_NEAR(d.confidence, std::exp(-(std::log(1.25) + half + third / 2)), 1e-12);
  for (const std::string& name : Diagnostics::names()) EXPECT_TRUE(std::isfinite(d.named(name)));
}

TEST(Diagnose, AnEvenOneIsAbsentMinded) {
  const Diagnostics d = diagnose(grid_of(1, 4, {0.25f, 0.25f, 0.25f, 0.25f}));
  EXPECT_NEAR(d.entropy, 1, 1e-12);
  EXPECT_NEAR(d.absent_out, std::log(4.0), 1e-12);
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
}

// In Chinese every token counts, but only one word where spaces separate words.
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
  // Split into words already: 爱它 is one of two.
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
