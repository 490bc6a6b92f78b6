// Exact match and F1 against values computed by hand from the scripts of SQuAD and CMRC 2018.
#include "evaluate/answers.h"

#include <gtest/gtest.h>

#include "support.h"

namespace fovea {
namespace {

AnswerScore score(AnswerMetrics metrics, const std::string& answer, const std::vector<std::string>& references) {
  const std::vector<Segment> segments = {{answer, references}};
  return answer_score(segments, metrics);
}
AnswerScore squad(const std::string& answer, const std::vector<std::string>& references) {
  return score(AnswerMetrics::kSquad, answer, references);
}
AnswerScore cmrc(const std::string& answer, const std::vector<std::string>& references) {
  return score(AnswerMetrics::kCmrc, answer, references);
}

TEST(Squad, IgnoresCaseArticlesPunctuationAndSpaces) {
  EXPECT_EQ(squad("The  Eiffel-Tower.", {"eiffeltower"}).exact, 100);
  EXPECT_EQ(squad("an apple", {"Apple!"}).exact, 100);
  EXPECT_EQ(squad("another apple", {"apple"}).exact, 0);
  EXPECT_EQ(squad("“the” tower", {"“ ” tower"}).exact, 100) << "an article between marks that are not ASCII";
  EXPECT_EQ(squad("$5.50", {"550"}).exact, 100);
}

TEST(Squad, F1CountsWordsAsOftenAsTheyOccur) {
  EXPECT_NEAR(squad("in the year 1999", {"1999"}).f1, 100 * 2 * (1.0 / 3) / (1.0 / 3 + 1), 1e-9);
  EXPECT_NEAR(squad("very very good", {"very good"}).f1, 100 * 2 * (2.0 / 3) / (2.0 / 3 + 1), 1e-9);
  EXPECT_EQ(squad("cat", {"dog"}).f1, 0);
  EXPECT_EQ(squad("", {"dog"}).f1, 0);
}

TEST(Squad, TheBestReferenceCounts) {
  const AnswerScore best = squad("two dogs", {"a cat", "two dogs", "dogs"});
  EXPECT_EQ(best.exact, 100);
  EXPECT_EQ(best.f1, 100);
}

TEST(Squad, IsTheMeanOverQuestions) {
  const std::vector<Segment> segments = {{"a dog", {"dog"}}, {"cat", {"bird"}}};
  EXPECT_EQ(answer_score(segments, AnswerMetrics::kSquad).exact, 50);
  EXPECT_EQ(answer_score(segments, AnswerMetrics::kSquad).f1, 50);
  EXPECT_ERROR(answer_score({}, AnswerMetrics::kSquad), "answers: expected");
}

TEST(Cmrc, IgnoresChinesePunctuation) {
  EXPECT_EQ(cmrc("《红楼梦》", {"红楼梦"}).exact, 100);
  EXPECT_EQ(cmrc("红楼 梦", {"红楼梦"}).exact, 0) << "spaces inside count";
  EXPECT_EQ(cmrc("1,000人", {"1000人"}).exact, 0) << "an ASCII comma is not removed";
}

TEST(Cmrc, F1IsOfTheLongestCommonPiece) {
  // 4 characters of 6 and of 4.
  EXPECT_NEAR(cmrc("在北京大学里", {"北京大学"}).f1, 100 * 2 * (4.0 / 6) * 1 / (4.0 / 6 + 1), 1e-9);
  // The common characters are 4, but the longest common piece has 2.
  EXPECT_NEAR(cmrc("北京和大学", {"北京大学"}).f1, 100 * 2 * (2.0 / 5) * (2.0 / 4) / (2.0 / 5 + 2.0 / 4), 1e-9);
  // A Latin word and a number are one token each.
  EXPECT_NEAR(cmrc("windows 95系统", {"Windows 95"}).f1, 100 * 2 * (2.0 / 4) * 1 / (2.0 / 4 + 1), 1e-9);
  EXPECT_EQ(cmrc("", {"北京"}).f1, 0);
}

TEST(AnswerMetrics, AreChosenByTheLanguageOfTheQuestions) {
  EXPECT_EQ(answer_metrics_for(std::vector<std::string>{"谁？", "何时？", "who?"}), AnswerMetrics::kCmrc);
  EXPECT_EQ(answer_metrics_for(std::vector<std::string>{"who?"}), AnswerMetrics::kSquad);
  EXPECT_EQ(answer_metrics_named("cmrc"), AnswerMetrics::kCmrc);
  EXPECT_ERROR(answer_metrics_named("rouge"), "expected one of squad, cmrc, got rouge");
}

TEST(BestSentence, SharesMostWords) {
  EXPECT_EQ(best_sentence("It rained. The town was founded in 1850 by monks! Why?", "When was the town founded?"),
            "The town was founded in 1850 by monks!");
  EXPECT_EQ(best_sentence("今天下雨。北京大学成立于1898年。它很大。", "北京大学何时成立？"), "北京大学成立于1898年。");
  EXPECT_EQ(best_sentence("", "who?"), "");
  EXPECT_EQ(best_sentence("one", ""), "one");
}

}  // namespace
}  // namespace fovea
