// ROUGE by hand-counted overlaps and by the published stems of Porter's algorithm in NLTK's version.
#include "evaluate/rouge.h"

#include <gtest/gtest.h>

#include <map>

#include "evaluate/porter.h"
#include "evaluate/validation_metrics.h"
#include "support.h"

namespace fovea {
namespace {

using Words = std::vector<std::string>;

RougeScore rouge(const std::string& hypothesis, const Words& references, bool stem = false) {
  return corpus_rouge(std::vector<Segment>{{hypothesis, references}}, {.stem = stem});
}

TEST(Rouge, WordsAreLettersAndDigits) {
  EXPECT_EQ(rouge_words("The F1-score: 3.5% of BERT_base's naïve parsing"),
            (Words{"the", "f1", "score", "3", "5", "of", "bert", "base", "s", "na", "ve", "parsing"}));
  EXPECT_EQ(rouge_words("Running dogs was fun", {.stem = true}), (Words{"run", "dog", "was", "fun"}));
  EXPECT_EQ(rouge_words("我爱BLEU。"), (Words{"我", "爱", "bleu"}));
  EXPECT_TRUE(rouge_words(" -- ").empty());
}

// Google's README: target "The quick brown fox jumps over the lazy dog", prediction "The quick brown dog jumps on the
// log.": 6 of 8 and 9 words in common; pairs "the quick" and "quick brown" of 7 and 8; the subsequence "the quick brown
// jumps the".
TEST(Rouge, OverlapsCountedByHand) {
  const RougeScore got =
      rouge("The quick brown dog jumps on the log.", {"The quick brown fox jumps over the lazy dog"});
  EXPECT_NEAR(got.rouge1, 100 * 2.0 * 6 / 17, 1e-9);
  EXPECT_NEAR(got.rouge2, 100 * 2.0 * 2 / 15, 1e-9);
  EXPECT_NEAR(got.rouge_l, 100 * 2.0 * 5 / 17, 1e-9);
}

TEST(Rouge, RepeatedWordsAreClipped) {
  const RougeScore got = rouge("the the the cat", {"the cat the"});
  EXPECT_NEAR(got.rouge1, 100 * 2.0 * 3 / 7, 1e-9);
  EXPECT_NEAR(got.rouge2, 100 * 2.0 * 1 / 5, 1e-9);
  EXPECT_NEAR(got.rouge_l, 100 * 2.0 * 2 / 7, 1e-9);
}

TEST(Rouge, StemsMatchForms) {
  EXPECT_NEAR(rouge("parsing sentences", {"parse a sentence"}).rouge1, 0, 1e-9);
  EXPECT_NEAR(rouge("parsing sentences", {"parse a sentence"}, true).rouge1, 100 * 2.0 * 2 / 5, 1e-9);
}

TEST(Rouge, TheBestReferenceCounts) {
  const RougeScore got = rouge("a b c d", {"a b x y z", "d c b a"});
  EXPECT_NEAR(got.rouge1, 100, 1e-9);
  EXPECT_NEAR(got.rouge2, 100 * 2.0 * 1 / 7, 1e-9);
  EXPECT_NEAR(got.rouge_l, 100 * 2.0 * 2 / 9, 1e-9);
}

TEST(Rouge, NothingInCommonAndEmptyTexts) {
  for (const auto& [hypothesis, reference] :
       std::map<std::string, std::string>{{"", ""}, {"a", ""}, {"", "a"}, {"a", "b"}, {"...", "a"}}) {
    const RougeScore got = rouge(hypothesis, {reference});
    EXPECT_EQ(got.rouge1 + got.rouge2 + got.rouge_l, 0) << hypothesis << reference;
  }
  EXPECT_ERROR(corpus_rouge({}), "ROUGE: expected at least one segment");
  EXPECT_NEAR(rouge("word", {"word"}).rouge2, 0, 1e-9);  // no pairs at all
}

TEST(Rouge, TheMeanOfSegmentsIsAValidationMetric) {
  const std::vector<Segment> segments = {{"a b", {"a b"}}, {"c d", {"e f"}}};
  EXPECT_NEAR(corpus_rouge(segments).rouge1, 50, 1e-9);
  for (const char* metric : {"rouge-1", "rouge-2", "rouge-l"}) {
    EXPECT_NEAR(validation_score(metric, segments, "13a"), 50, 1e-9) << metric;
    EXPECT_TRUE(higher_is_better(metric));
  }
  EXPECT_EQ(corpus_rouge(segments).line(), "ROUGE-1 / 2 / L = 50.00 / 50.00 / 50.00");
}

// Porter's own examples for each step, with what NLTK's additions make of them in the end.
TEST(Porter, Stems) {
  const std::map<std::string, std::string> stems = {{"caresses", "caress"},
                                                    {"ponies", "poni"},
                                                    {"ties", "tie"},
                                                    {"caress", "caress"},
                                                    {"cats", "cat"},
                                                    {"feed", "feed"},
                                                    {"agreed", "agre"},
                                                    {"plastered", "plaster"},
                                                    {"bled", "bled"},
                                                    {"motoring", "motor"},
                                                    {"sing", "sing"},
                                                    {"conflated", "conflat"},
                                                    {"troubled", "troubl"},
                                                    {"sized", "size"},
                                                    {"hopping", "hop"},
                                                    {"tanned", "tan"},
                                                    {"falling", "fall"},
                                                    {"hissing", "hiss"},
                                                    {"fizzed", "fizz"},
                                                    {"failing", "fail"},
                                                    {"filing", "file"},
                                                    {"happy", "happi"},
                                                    {"sky", "sky"},
                                                    {"enjoy", "enjoy"},
                                                    {"spy", "spi"},
                                                    {"relational", "relat"},
                                                    {"conditional", "condit"},
                                                    {"rational", "ration"},
                                                    {"valenci", "valenc"},
                                                    {"hesitanci", "hesit"},
                                                    {"digitizer", "digit"},
                                                    {"conformabli", "conform"},
                                                    {"radicalli", "radic"},
                                                    {"differentli", "differ"},
                                                    {"vileli", "vile"},
                                                    {"analogousli", "analog"},
                                                    {"vietnamization", "vietnam"},
                                                    {"predication", "predic"},
                                                    {"operator", "oper"},
                                                    {"feudalism", "feudal"},
                                                    {"decisiveness", "decis"},
                                                    {"hopefulness", "hope"},
                                                    {"callousness", "callous"},
                                                    {"formaliti", "formal"},
                                                    {"sensitiviti", "sensit"},
                                                    {"sensibiliti", "sensibl"},
                                                    {"triplicate", "triplic"},
                                                    {"formative", "form"},
                                                    {"formalize", "formal"},
                                                    {"electriciti", "electr"},
                                                    {"electrical", "electr"},
                                                    {"hopeful", "hope"},
                                                    {"goodness", "good"},
                                                    {"revival", "reviv"},
                                                    {"allowance", "allow"},
                                                    {"inference", "infer"},
                                                    {"airliner", "airlin"},
                                                    {"gyroscopic", "gyroscop"},
                                                    {"adjustable", "adjust"},
                                                    {"defensible", "defens"},
                                                    {"irritant", "irrit"},
                                                    {"replacement", "replac"},
                                                    {"adjustment", "adjust"},
                                                    {"dependent", "depend"},
                                                    {"adoption", "adopt"},
                                                    {"homologou", "homolog"},
                                                    {"communism", "commun"},
                                                    {"activate", "activ"},
                                                    {"angulariti", "angular"},
                                                    {"homologous", "homolog"},
                                                    {"effective", "effect"},
                                                    {"bowdlerize", "bowdler"},
                                                    {"probate", "probat"},
                                                    {"rate", "rate"},
                                                    {"cease", "ceas"},
                                                    {"controll", "control"},
                                                    {"roll", "roll"},
                                                    {"dies", "die"},
                                                    {"died", "die"},
                                                    {"spied", "spi"},
                                                    {"skies", "sky"},
                                                    {"dying", "die"},
                                                    {"lying", "lie"},
                                                    {"tying", "tie"},
                                                    {"news", "news"},
                                                    {"innings", "inning"},
                                                    {"outings", "outing"},
                                                    {"cannings", "canning"},
                                                    {"howe", "howe"},
                                                    {"proceed", "proceed"},
                                                    {"exceed", "exceed"},
                                                    {"succeed", "succeed"},
                                                    {"geology", "geolog"},
                                                    {"theology", "theolog"},
                                                    {"conditionally", "condit"},
                                                    {"hopefully", "hope"},
                                                    {"usefully", "use"},
                                                    {"are", "are"},
                                                    {"eve", "eve"},
                                                    {"ice", "ice"},
                                                    {"ore", "ore"},
                                                    {"use", "use"},
                                                    {"yes", "ye"},
                                                    {"syzygy", "syzygi"},
                                                    {"yyyy", "yyyi"},
                                                    {"generalizations", "gener"},
                                                    {"oscillators", "oscil"},
                                                    {"meetings", "meet"},
                                                    {"naturally", "natur"}};
  for (const auto& [word, stem] : stems) EXPECT_EQ(porter_stem(word), stem) << word;
}

}  // namespace
}  // namespace fovea
