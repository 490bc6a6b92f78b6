// IBM model 1 against its equations: what it converges to, and one iteration computed by hand.
#include "text/lexical_table.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "support.h"

namespace fovea {
namespace {

ParallelCorpus corpus_of(const std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>>& pairs) {
  ParallelCorpus corpus;
  for (const auto& [source, target] : pairs) {
    corpus.source.append(source);
    corpus.target.append(target);
  }
  return corpus;
}

float probability(const LexicalTable& table, int32_t source, int32_t target) {
  for (const LexicalEntry& entry : table[static_cast<size_t>(source)]) {
    if (entry.target == target) return entry.probability;
  }
  return 0.0f;
}

TEST(LexicalTable, FindsTheTranslationsThatOccurTogether) {
  const ParallelCorpus corpus = corpus_of({{{4, 5}, {14, 15}}, {{4, 6}, {14, 16}}, {{5, 6}, {16, 15}}, {{6}, {16}}});
  const LexicalTable table = estimate_lexical_table(corpus, 8, 20);
  ASSERT_EQ(table.size(), 8U);
  for (const int32_t source : {4, 5, 6}) {
    const auto& entries = table[static_cast<size_t>(source)];
    ASSERT_FALSE(entries.empty());
    EXPECT_EQ(entries.front().target, source + 10);
    EXPECT_GT(entries.front().probability, 0.9f);
    float sum = 0;
    for (const LexicalEntry& entry : entries) sum += entry.probability;
    EXPECT_LE(sum, 1.0f + 1e-5f);
  }
  EXPECT_TRUE(table[7].empty()) << "a token that does not occur has no translation";
}

// The first iteration starts from equal probabilities: each target token gives the empty word and the source tokens of
// its pair equal counts. Token 4 receives 1/3 from 14 twice (of two pairs), 1/3 from 15 and 1/3 from 16.
TEST(LexicalTable, OneIterationIsComputedByHand) {
  const ParallelCorpus corpus = corpus_of({{{4, 5}, {14, 15}}, {{4, 6}, {14, 16}}});
  const LexicalTable table = estimate_lexical_table(corpus, 8, 1);
  EXPECT_FLOAT_EQ(probability(table, 4, 14), 0.5f);
  EXPECT_FLOAT_EQ(probability(table, 4, 15), 0.25f);
  EXPECT_FLOAT_EQ(probability(table, 5, 14), 0.5f);
  EXPECT_FLOAT_EQ(probability(table, kPad, 16), 0.25f);
  EXPECT_EQ(probability(table, 5, 16), 0.0f);
}

TEST(LexicalTable, LeavesOutUnlikelyEntriesAndRefusesForeignTokens) {
  const ParallelCorpus corpus = corpus_of({{{4, 5}, {14, 15}}, {{4, 6}, {14, 16}}});
  EXPECT_EQ(estimate_lexical_table(corpus, 8, 1, 0.3f)[4].size(), 1U);
  EXPECT_ERROR(estimate_lexical_table(corpus, 6, 1), "expected source tokens below 6, got 6");
}

}  // namespace
}  // namespace fovea
