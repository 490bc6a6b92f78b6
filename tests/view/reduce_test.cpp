// Titles, notes and errors of reductions. More numbers are in tests/view/cases/reductions.json.
#include "view/reduce.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"

namespace fovea {
namespace {

// Tokens of a text, each as {begin, end, starts_word}; the last is </s>.
std::vector<RecordToken> tokens(const std::vector<RecordToken>& words) {
  std::vector<RecordToken> all = words;
  const int64_t end = words.empty() ? 0 : words.back().end;
  all.push_back({.text = "</s>", .begin = end, .end = end, .mark = true});
  return all;
}

AttentionRecord two_by_two() {
  AttentionRecord record;
  record.source_text = record.target_text = "a";
  record.source = record.target = tokens({{"a", 0, 1}});
  record.steps = {{std::log(0.5), {{"a", std::log(0.5)}, {"b", std::log(0.25)}}}, {std::log(0.9), {}}};
  RecordedAttention cross{.kind = "cross", .layers = 2, .heads = 2, .rows = 2, .columns = 2};
  cross.weights = {1, 0, 0, 1, 0.5, 0.5, 1, 0, 0, 1, 1, 0, 0.25, 0.75, 0.5, 0.5};
  RecordedAttention self{.kind = "encoder-self", .layers = 2, .heads = 1, .rows = 2, .columns = 2};
  self.weights = {0, 1, 1, 0, 1, 0, 0.5, 0.5};
  record.attentions = {cross, self};
  return record;
}

void expect_weights(const Grid& grid, const std::vector<float>& expected) {
  ASSERT_EQ(grid.weights.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(is_absent(grid.weights[i])) << i;
    } else {
      EXPECT_NEAR(grid.weights[i], expected[i], 1e-6f) << i;
    }
  }
}

TEST(Reduce, SaysWhatItDid) {
  const AttentionRecord record = two_by_two();
  const Grid mean = reduce(record, {});
  EXPECT_EQ(mean.title, "cross attention, mean of 2 heads of 2 layers");
  expect_weights(mean, {0.4375f, 0.5625f, 0.625f, 0.375f});
  const Grid layer = reduce(record, {.layer = 2});
  EXPECT_EQ(layer.title, "cross attention, layer 2, mean of 2 heads");
  expect_weights(layer, {0.125f, 0.875f, 0.75f, 0.25f});
  const Grid one = reduce(record, {.heads = "one", .layer = 1, .head = 2});
  EXPECT_EQ(one.title, "cross attention, layer 1, head 2");
  expect_weights(one, {0.5f, 0.5f, 1.0f, 0.0f});
  const Grid largest = reduce(record, {.heads = "max"});
  EXPECT_EQ(largest.title, "cross attention, max of 2 heads of 2 layers");
  expect_weights(largest, {1, 1, 1, 1});
  EXPECT_EQ(mean.rows[1].mark, true);
  EXPECT_NEAR(mean.notes[0].probability, 0.5, 1e-12);
  EXPECT_EQ(mean.notes[0].alternatives[1].first, "b");
  EXPECT_EQ(every_head(record, {}).size(), 4u);
}

TEST(Reduce, RollsOutThroughLayers) {
  const AttentionRecord record = two_by_two();
  // (A1 + I)/2 = [.5 .5; .5 .5], (A2 + I)/2 = [1 0; .25 .75]; their product, the second layer first.
  expect_weights(reduce(record, {.attention = "encoder-self", .heads = "rollout"}), {0.5f, 0.5f, 0.5f, 0.5f});
  const Grid cross = reduce(record, {.heads = "rollout", .layer = 1});
  EXPECT_EQ(cross.title, "cross attention, layer 1, mean of 2 heads, then rollout through the encoder's 2 layers");
  expect_weights(cross, {0.5f, 0.5f, 0.5f, 0.5f});
}

TEST(Reduce, RefusesWhatIsNotThere) {
  AttentionRecord without;
  without.architecture = "rnn-seq2seq";
  EXPECT_ERROR(reduce(without, {}), "rnn-seq2seq has no attention to show");
  const AttentionRecord record = two_by_two();
  EXPECT_ERROR(reduce(record, {.attention = "decoder-self"}), "it has: cross, encoder-self");
  EXPECT_ERROR(reduce(record, {.layer = 3}), "layer: expected at most 2, got 3");
  EXPECT_ERROR(reduce(record, {.heads = "one", .layer = 1, .head = 3}), "head: expected at most 2, got 3");
  EXPECT_ERROR(reduce(record, {.heads = "one", .head = 1}), "layer: choose a layer from 1 to 2");
  EXPECT_ERROR(reduce(record, {.heads = "best"}), "best was not measured");
  AttentionRecord measured = record;
  measured.attentions[0].best = {"one", 2, 1};
  EXPECT_EQ(reduce(measured, {.heads = "best"}).title, "cross attention, layer 2, head 1 (the best by measured AER)");
  measured.attentions[0].best.step = "input";
  EXPECT_EQ(reduce(measured, {.heads = "best"}).title,
            "cross attention, layer 2, head 1, at the step that reads each token (the best by measured AER)");
  // auto is the best where it was measured, unless a layer is chosen.
  EXPECT_EQ(reduce(measured, {.heads = "auto"}).title, reduce(measured, {.heads = "best"}).title);
  EXPECT_EQ(reduce(measured, {.heads = "auto", .layer = 1}).title, reduce(measured, {.layer = 1}).title);
  EXPECT_EQ(reduce(record, {.heads = "auto"}).title, reduce(record, {.heads = "mean"}).title);
  EXPECT_EQ(normalise_rows(reduce(record, {})).title,
            reduce(record, {}).title + ", each row relative to its largest weight");
}

}  // namespace
}  // namespace fovea
