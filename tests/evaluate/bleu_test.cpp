// BLEU computed by hand, and errors of callers.
#include "evaluate/bleu.h"

#include <cmath>
#include <string>
#include <vector>

#include "support.h"

namespace fovea {
namespace {

std::vector<Segment> one(std::string hypothesis, std::vector<std::string> references) {
  return {{.hypothesis = std::move(hypothesis), .references = std::move(references)}};
}

// 1-grams: all but one "the", 5/6. 2-grams: the cat, cat sat, sat on, 3/5. 3-grams: the cat sat, cat sat
// on, 2/4. 4-grams: the cat sat on, 1/3. The product is 1/12.
TEST(Bleu, CountsNgramsByHand) {
  const BleuScore bleu = corpus_bleu(one("the cat sat on the mat", {"the cat sat on a mat"}));
  EXPECT_EQ(bleu.matches, (std::array<int64_t, 4>{5, 3, 2, 1}));
  EXPECT_EQ(bleu.totals, (std::array<int64_t, 4>{6, 5, 4, 3}));
  EXPECT_NEAR(bleu.score, 100 * std::pow(1.0 / 12, 0.25), 1e-12);
  EXPECT_EQ(bleu.line(), "BLEU = 53.73 83.3/60.0/50.0/33.3 (BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)");
}

// Papineni et al. 2002, example 2: two of the seven words count, because no reference has more.
TEST(Bleu, ClipsCountsToThoseOfAReference) {
  const BleuScore bleu =
      corpus_bleu(one("the the the the the the the", {"the cat is on the mat", "there is a cat on the mat"}));
  EXPECT_EQ(bleu.matches[0], 2);
  EXPECT_EQ(bleu.totals[0], 7);
}

TEST(Bleu, SmoothsOrdersWithoutAMatch) {
  // 2/4 of the words match, none of the 3, 2 and 1 longer n-grams.
  const auto segments = one("a x b y", {"a p b q"});
  const auto score = [&](Smoothing smoothing) { return corpus_bleu(segments, {.smoothing = smoothing}).score; };
  EXPECT_NEAR(score(Smoothing::kExp), 100 * std::pow(0.5 * (0.5 / 3) * (0.25 / 2) * (0.125 / 1), 0.25), 1e-12);
  EXPECT_NEAR(score(Smoothing::kFloor), 100 * std::pow(0.5 * (0.1 / 3) * (0.1 / 2) * (0.1 / 1), 0.25), 1e-12);
  EXPECT_NEAR(score(Smoothing::kAddK), 100 * std::pow(0.5 * (1.0 / 4) * (1.0 / 3) * (1.0 / 2), 0.25), 1e-12);
  EXPECT_EQ(score(Smoothing::kNone), 0);
}

TEST(Bleu, PenalisesShortHypotheses) {
  const BleuScore bleu = corpus_bleu(one("one two three four five", {"one two three four five six seven"}));
  EXPECT_NEAR(bleu.brevity_penalty, std::exp(1 - 7.0 / 5), 1e-15);
  EXPECT_NEAR(bleu.score, 100 * std::exp(1 - 7.0 / 5), 1e-12);
  EXPECT_NEAR(bleu.ratio(), 5.0 / 7, 1e-15);
}

TEST(Bleu, TakesTheClosestReferenceLengthAndOfTwoTheShorter) {
  const auto length = [](std::vector<std::string> references) {
    return corpus_bleu(one("a b c d", std::move(references))).reference_length;
  };
  EXPECT_EQ(length({"a", "a b c d e f", "a b c"}), 3);
  EXPECT_EQ(length({"a b c d e", "a b c"}), 3);
  EXPECT_EQ(length({"a b c", "a b c d e"}), 3);
}

TEST(Bleu, SentencesShorterThanFourWordsHaveAScore) {
  const Segment segment{.hypothesis = "one two", .references = {"one two"}};
  EXPECT_EQ(corpus_bleu({&segment, 1}).score, 0);
  EXPECT_NEAR(sentence_bleu(segment).score, 100, 1e-12);
}

TEST(Bleu, OfNothingIsZero) {
  const BleuScore empty = corpus_bleu(one("", {"a reference"}));
  EXPECT_EQ(empty.score, 0);
  EXPECT_EQ(empty.brevity_penalty, 0);
  EXPECT_EQ(corpus_bleu(one("", {""})).line(),
            "BLEU = 0.00 0.0/0.0/0.0/0.0 (BP = 1.000 ratio = 0.000 hyp_len = 0 ref_len = 0)");
}

TEST(Bleu, SignatureSaysWhatWasMeasured) {
  const auto segments = one("a", {"a", "b"});
  EXPECT_EQ(bleu_signature(segments), "nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0");
  EXPECT_EQ(
      bleu_signature(
          segments,
          {.tokenizer = Tokenizer::kZh, .smoothing = Smoothing::kFloor, .lowercase = true, .effective_order = true}),
      "nrefs:2|case:lc|eff:yes|tok:zh|smooth:floor[0.10]|version:2.6.0");
  const std::vector<Segment> uneven{{"a", {"a"}}, {"b", {"b", "c"}}};
  EXPECT_EQ(bleu_signature(uneven, {.smoothing = Smoothing::kAddK, .smooth_value = 0.5}),
            "nrefs:var|case:mixed|eff:no|tok:13a|smooth:add-k[0.50]|version:2.6.0");
}

TEST(Bleu, SaysWhatIsMissing) {
  EXPECT_ERROR(corpus_bleu({}), "bleu: expected at least one segment, got none");
  EXPECT_ERROR(corpus_bleu(one("a", {})), "bleu: expected a reference for segment 1, got none");
  EXPECT_ERROR(smoothing_named("laplace"), "smoothing: expected one of exp, floor, add-k, none, got laplace");
  EXPECT_ERROR(tokenizer_named("moses"), "tokenizer: expected one of 13a, intl, zh, char, none, got moses");
  const std::vector<std::string> two{"a", "b"};
  const std::vector<std::vector<std::string>> files{{"a", "b"}, {"a"}};
  EXPECT_ERROR(make_segments(two, files), "expected a reference for each of 2 hypotheses, got 1");
  EXPECT_ERROR(make_segments(two, {}), "expected at least one list of references, got none");
}

}  // namespace
}  // namespace fovea
