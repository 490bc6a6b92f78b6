// chrF worked out by hand.
#include "evaluate/chrf.h"

#include <vector>

#include "support.h"

namespace fovea {
namespace {

double score(const Segment& segment, const ChrfOptions& options = {}) { return sentence_chrf(segment, options).score; }

// Characters: "abc" in "abcd", precision 3/3, recall 3/4. Pairs: 2/2, 2/3. Triples: 1/1, 1/2. The
// hypothesis has no 4-grams, so the averages are over three orders.
TEST(Chrf, AveragesPrecisionAndRecallByHand) {
  const double recall = (3.0 / 4 + 2.0 / 3 + 1.0 / 2) / 3;
  EXPECT_NEAR(score({"abc", {"a b c d"}}), 100 * 5 * recall / (4 + recall), 1e-12);
  EXPECT_NEAR(score({"abc", {"a b c d"}}, {.beta = 1}), 100 * 2 * recall / (1 + recall), 1e-12);
}

// All characters match; of the words "hi" and "!" do: 2/2, and 1/1 pairs.
TEST(Chrf, PlusPlusCountsWordsToo) {
  EXPECT_NEAR(score({"hi!", {"hi !"}}, {.word_order = 2}), 100, 1e-12);
  // Only one mark is separated from a word, preferably the last: "(hi" and ")", but "(" and "hi".
  const ChrfOptions words{.char_order = 0, .word_order = 1};
  EXPECT_NEAR(score({"(hi)", {"hi )"}}, words), 50, 1e-12);
  EXPECT_NEAR(score({"(hi", {"( hi"}}, words), 100, 1e-12);
}

TEST(Chrf, TakesTheBestReference) {
  EXPECT_NEAR(score({"abcdef", {"xyz", "abcdef", "abc"}}), 100, 1e-12);
  EXPECT_EQ(score({"abcdef", {"xyz"}}), 0);
  EXPECT_EQ(score({"", {"xyz"}}), 0);
  EXPECT_EQ(score({"", {""}}), 0);
}

TEST(Chrf, NamesAndSignature) {
  const std::vector<Segment> segments{{"a", {"a"}}};
  EXPECT_EQ(corpus_chrf(segments).line(), "chrF2 = 100.00");
  EXPECT_EQ(corpus_chrf(segments, {.word_order = 2}).name, "chrF2++");
  EXPECT_EQ(chrf_signature(segments), "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:2.6.0");
  EXPECT_EQ(chrf_signature(segments, {.word_order = 2, .lowercase = true, .whitespace = true, .eps_smoothing = true}),
            "nrefs:1|case:lc|eff:no|nc:6|nw:2|space:yes|version:2.6.0");
  EXPECT_ERROR(corpus_chrf({}), "chrf: expected at least one segment, got none");
  EXPECT_ERROR(corpus_chrf(segments, {.char_order = 0}),
               "chrf: expected an n-gram order above 0, got 0 for characters");
}

}  // namespace
}  // namespace fovea
