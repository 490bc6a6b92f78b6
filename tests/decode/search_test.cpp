// Search with every architecture, compared with a plain greedy loop of teacher forcing and with scores of teacher
// forcing. The results do not depend on how sentences are batched.
#include "decode/search.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "decode/test_models.h"
#include "tensor/cuda.h"

namespace fovea {
namespace {

class SearchTest : public ::testing::TestWithParam<Setup> {
 protected:
  SmallModel small{GetParam().config, 11, 3};
  std::vector<std::vector<Hypothesis>> find(const SearchOptions& options, int64_t together = 32) {
    return find_with(small, some_sources(11), options, together);
  }

  // How much log p of a token may differ when sums are computed in another order. Each result is exact for weights that
  // differ by a few half units in the last place; softmax adds a few roundings of its own.
  double tolerance(const ParallelCorpus& sources, const std::vector<std::vector<Hypothesis>>& found) const {
    ParallelCorpus pairs = sources;
    for (const auto& sentence : found) pairs.target.append(sentence[0].ids);
    return 4 * sensitivity(GetParam().config, small, pairs) + 32 * std::numeric_limits<float>::epsilon();
  }
};

TEST_P(SearchTest, GreedyTakesTheLikeliestWordEachTime) {
  const ParallelCorpus sources = some_sources(11);
  const auto found = find({.max_length = 12});
  ASSERT_EQ(std::ssize(found), sources.size());
  const double allowed = tolerance(sources, found) * 12;
  for (int64_t i = 0; i < sources.size(); ++i) {
    const Hypothesis plain = greedy_by_force(small, sources, i, 12);
    ASSERT_EQ(found[static_cast<size_t>(i)].size(), 1U);
    const Hypothesis& h = found[static_cast<size_t>(i)][0];
    EXPECT_EQ(h.ids, plain.ids) << i;
    EXPECT_EQ(h.finished, plain.finished);
    EXPECT_NEAR(h.log_probability, plain.log_probability, allowed);
  }
}

TEST_P(SearchTest, BatchesDoNotMatter) {
  const SearchOptions options{.beam = 3, .nbest = 3, .max_length = 12};
  const auto together = find(options), alone = find(options, 1), few = find(options, 3);
  const double allowed = tolerance(some_sources(11), together) * 12;
  for (size_t i = 0; i < together.size(); ++i) {
    ASSERT_EQ(together[i].size(), alone[i].size());
    for (size_t n = 0; n < together[i].size(); ++n) {
      EXPECT_EQ(together[i][n].ids, alone[i][n].ids) << i << " " << n;
      EXPECT_EQ(together[i][n].ids, few[i][n].ids) << i << " " << n;
      EXPECT_NEAR(together[i][n].score, alone[i][n].score, allowed);
    }
  }
}

// A step is captured the second time and launched from then on; other batches come in between.
TEST_P(SearchTest, CudaGraphsGiveTheSame) {
  if (cuda::device_count() == 0) GTEST_SKIP() << "no card here";
  const SmallModel card(GetParam().config, 11, 3, 0.5f, Device::cuda());
  const ParallelCorpus sources = some_sources(11);
  for (SearchOptions options :
       {SearchOptions{.max_length = 12}, SearchOptions{.beam = 3, .nbest = 3, .max_length = 12}}) {
    options.capture_weights = true;
    const auto plain = find_with(card, sources, options);
    options.constant_weights = true;
    std::vector<Tensor> held;  // moves what is not in the memory of the search to other addresses
    for (const int64_t together : {32, 32, 3, 32, 3, 3, 32}) {
      for (const int64_t size : {1, 60, 100, 200, 400}) held.push_back(zeros({size}, DType::kI32, Device::cuda()));
      const auto found = find_with(card, sources, options, together);
      for (size_t i = 0; i < plain.size(); ++i) {
        ASSERT_EQ(found[i].size(), plain[i].size());
        for (size_t n = 0; n < plain[i].size(); ++n) {
          ASSERT_EQ(found[i][n].ids, plain[i][n].ids) << i << " " << n;
          ASSERT_EQ(found[i][n].weights.size(), plain[i][n].weights.size());
          if (together != 32) continue;  // other batches, other rounding
          EXPECT_EQ(found[i][n].log_probs, plain[i][n].log_probs);
          for (size_t w = 0; w < plain[i][n].weights.size(); ++w) {
            EXPECT_EQ(found[i][n].weights[w].weights, plain[i][n].weights[w].weights);
          }
        }
      }
    }
  }
}

TEST_P(SearchTest, BestComeFirstAndOnce) {
  for (const auto& sentence : find({.beam = 4, .nbest = 4, .max_length = 12})) {
    ASSERT_EQ(sentence.size(), 4U);
    std::set<std::vector<int32_t>> seen;
    for (size_t n = 0; n < sentence.size(); ++n) {
      EXPECT_TRUE(seen.insert(sentence[n].ids).second);
      if (n > 0 && sentence[n].finished == sentence[n - 1].finished) {
        EXPECT_LE(sentence[n].score, sentence[n - 1].score);
      }
      EXPECT_TRUE(n == 0 || sentence[n - 1].finished || !sentence[n].finished);
      EXPECT_EQ(sentence[n].log_probs.size(), sentence[n].ids.size() + (sentence[n].finished ? 1 : 0));
      for (const int32_t word : sentence[n].ids) EXPECT_FALSE(is_control_token(word));
    }
  }
}

TEST_P(SearchTest, ScoreIsWhatForcedDecodingGives) {
  const ParallelCorpus sources = some_sources(11);
  const auto found = find({.beam = 2, .min_length = 2, .max_length = 12});
  ParallelCorpus pairs = sources;
  for (const auto& sentence : found) pairs.target.append(sentence[0].ids);
  const std::vector<Hypothesis> scored = score_with(small, pairs);
  const double allowed = tolerance(sources, found);
  for (size_t i = 0; i < found.size(); ++i) {
    const Hypothesis& h = found[i][0];
    ASSERT_EQ(scored[i].log_probs.size(), h.ids.size() + 1);
    for (size_t t = 0; t < h.log_probs.size(); ++t) EXPECT_NEAR(h.log_probs[t], scored[i].log_probs[t], allowed);
    if (!h.finished) continue;
    EXPECT_NEAR(h.log_probability, scored[i].log_probability, allowed * 12);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SearchTest, ::testing::ValuesIn(setups()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace fovea
