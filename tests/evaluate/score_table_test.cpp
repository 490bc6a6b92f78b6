#include "evaluate/score_table.h"

#include <vector>

#include "evaluate/bleu.h"
#include "evaluate/edit.h"
#include "support.h"

namespace fovea {
namespace {

std::vector<Metric> metrics() {
  return {
      {"exact", [](std::span<const Segment> segments) { return exact_match(segments); }},
      {"BLEU", [](std::span<const Segment> segments) { return corpus_bleu(segments).score; }},
  };
}

TEST(ByLength, PrintsARowForEveryLengthThatOccurs) {
  const Segment right{"one two three four", {"one two three four"}}, wrong{"one two three five", {"six"}};
  const std::vector<Segment> segments{right, wrong, right, right, wrong};
  const std::vector<int64_t> lengths{5, 6, 1, 31, 400};
  EXPECT_EQ(by_length(segments, lengths, metrics()).text(),
            "length  segments   exact    BLEU\n"
            "1-5            2  100.00  100.00\n"
            "6-10           1    0.00    0.00\n"
            "31+            2   50.00   50.00\n"
            "all            5   60.00   60.00\n");
}

TEST(ByLength, TakesOtherBounds) {
  const std::vector<Segment> segments{{"a", {"a"}}, {"b", {"c"}}, {"", {""}}};
  const std::vector<int64_t> lengths{1, 2, 0}, bounds{1};
  const ScoreTable table = by_length(segments, lengths, std::vector{metrics().front()}, bounds);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[0].label, "0");
  EXPECT_EQ(table.rows[1].label, "1");
  EXPECT_EQ(table.rows[2].label, "2+");
  EXPECT_DOUBLE_EQ(table.rows[2].scores[0], 0);
  EXPECT_EQ(table.rows[3].segments, 3);
}

TEST(ByLength, SaysWhatDoesNotFit) {
  const std::vector<Segment> segments{{"a", {"a"}}};
  EXPECT_ERROR(by_length(segments, {}, metrics()), "by length: expected a length for each of 1 segments, got 0");
  const std::vector<int64_t> lengths{1}, bounds{5, 5};
  EXPECT_ERROR(by_length(segments, lengths, metrics(), bounds), "expected rising bounds above 0, got 5 after 5");
}

TEST(ByGroup, PrintsARowForEveryGroup) {
  const Segment right{"one two three four", {"one two three four"}}, wrong{"one two three five", {"six"}};
  const std::vector<Segment> segments{right, wrong, right};
  const std::vector<std::string> groups{"seen", "unseen", "unseen"};
  EXPECT_EQ(by_group(segments, groups, metrics()).text(),
            "group   segments   exact    BLEU\n"
            "seen           1  100.00  100.00\n"
            "unseen         2   50.00   50.00\n"
            "all            3   66.67   66.67\n");
  EXPECT_ERROR(by_group(segments, {}, metrics()), "by group: expected a group for each of 3 segments, got 0");
}

}  // namespace
}  // namespace fovea
