// The Pharaoh format, symmetrisation and the alignment error rate.
#include "evaluate/alignment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "support.h"

namespace fovea {
namespace {

TEST(Pharaoh, IsReadAndWritten) {
  const GoldAlignment gold = parse_pharaoh("2-1 0-0  1?2 0-0", 0, "gold:1");
  EXPECT_EQ(gold.sure, (Alignment{{0, 0}, {2, 1}}));
  EXPECT_EQ(gold.possible, (Alignment{{0, 0}, {1, 2}, {2, 1}}));
  EXPECT_EQ(to_pharaoh(gold.possible, 0), "0-0 1-2 2-1");
  EXPECT_EQ(to_pharaoh(parse_pharaoh("1-1 3-2", 1, "gold:1").sure, 0), "0-0 2-1");
  EXPECT_EQ(to_pharaoh({{0, 0}}, 1), "1-1");
  EXPECT_TRUE(parse_pharaoh("", 0, "gold:1").possible.empty());
}

TEST(Pharaoh, RefusesOtherText) {
  for (const char* line : {"0", "0-", "-0", "a-b", "0-0-0", "0--1", "0-1x", "0:1", "99999999999999999999-0"}) {
    EXPECT_ERROR(parse_pharaoh(line, 0, "gold:7"), "gold:7: expected links such as 0-0 1-2");
  }
  EXPECT_ERROR(parse_pharaoh("0-1", 1, "gold:7"), "gold:7: expected words numbered from 1, got '0-1'");
}

// Worked by hand: A has 3 links, 2 of them sure, all 3 possible but one; S has 3.
TEST(AlignmentError, OfAHandWorkedCase) {
  AlignmentScore score;
  score.add({{0, 0}, {1, 1}, {4, 4}}, parse_pharaoh("0-0 1-1 2-2 3?3", 0, "gold"));
  EXPECT_DOUBLE_EQ(score.precision(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score.recall(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(score.error_rate(), 1 - (2.0 + 2.0) / (3 + 3));
  score.add({{3, 3}}, parse_pharaoh("3?3", 0, "gold"));  // a possible link costs nothing
  EXPECT_DOUBLE_EQ(score.error_rate(), 1 - (2.0 + 3.0) / (4 + 3));
}

TEST(AlignmentError, EqualsTheFormula) {
  Random random(3);
  AlignmentScore score;
  double links = 0, sure = 0, both_sure = 0, both_possible = 0;
  for (int sentence = 0; sentence < 20; ++sentence) {
    Alignment alignment;
    GoldAlignment gold;
    for (int64_t s = 0; s < 7; ++s) {
      for (int64_t t = 0; t < 6; ++t) {
        const bool a = random.below(3) == 0, p = random.below(3) == 0, sure_too = p && random.below(2) == 0;
        if (a) alignment.push_back({s, t});
        if (p) gold.possible.push_back({s, t});
        if (sure_too) gold.sure.push_back({s, t});
        links += a, sure += sure_too, both_sure += a && sure_too, both_possible += a && p;
      }
    }
    score.add(alignment, gold);
  }
  EXPECT_NEAR(score.error_rate(), 1 - (both_sure + both_possible) / (links + sure), 1e-12);
}

TEST(Symmetrise, JoinsTwoDirections) {
  const Alignment forward = {{0, 0}, {1, 1}, {2, 1}, {4, 4}}, backward = {{0, 0}, {1, 1}, {1, 2}, {5, 5}};
  EXPECT_EQ(symmetrise(forward, backward, "intersection"), (Alignment{{0, 0}, {1, 1}}));
  EXPECT_EQ(symmetrise(forward, backward, "union"), (Alignment{{0, 0}, {1, 1}, {1, 2}, {2, 1}, {4, 4}, {5, 5}}));
  // Both neighbours of 1-1 align a word that was unaligned; 4-4 and 5-5 are no neighbours of a link.
  EXPECT_EQ(symmetrise(forward, backward, "grow-diag"), (Alignment{{0, 0}, {1, 1}, {1, 2}, {2, 1}}));
  EXPECT_EQ(symmetrise(forward, backward, "grow-diag-final"),
            (Alignment{{0, 0}, {1, 1}, {1, 2}, {2, 1}, {4, 4}, {5, 5}}));
}

TEST(Symmetrise, FinalAndNeedsTwoFreeWords) {
  const Alignment forward = {{0, 0}, {0, 3}}, backward = {{0, 0}, {7, 7}};
  EXPECT_EQ(symmetrise(forward, backward, "grow-diag-final"), (Alignment{{0, 0}, {0, 3}, {7, 7}}));
  EXPECT_EQ(symmetrise(forward, backward, "grow-diag-final-and"), (Alignment{{0, 0}, {7, 7}}));
}

}  // namespace
}  // namespace fovea
