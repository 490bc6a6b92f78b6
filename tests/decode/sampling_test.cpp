// Sampling is repeatable, independent of batches, and has the frequencies of the model's distribution.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "decode/test_models.h"

namespace fovea {
namespace {

class SamplingTest : public ::testing::Test {
 protected:
  SmallModel model{setups()[1].config, 11, 3};
  ParallelCorpus sources = some_sources(11);

  std::vector<std::vector<int32_t>> words(const SearchOptions& options, int64_t together = 32) {
    std::vector<std::vector<int32_t>> all;
    for (const auto& sentence : find_with(model, sources, options, together)) {
      for (const Hypothesis& h : sentence) all.push_back(h.ids);
    }
    return all;
  }

  // Samples many first tokens of one sentence and compares their frequencies with their probabilities.
  void expect_frequencies(SearchOptions options, const std::vector<double>& expected) {
    constexpr int64_t kSamples = 20000;
    options.sample = true;
    options.nbest = kSamples;
    options.max_length = 1;
    options.allow_unknown = true;
    ParallelCorpus one;
    one.source.append(sources.source[0]);
    std::vector<double> share(expected.size());
    const auto found = find_with(model, one, options);
    for (const Hypothesis& h : found[0]) {
      share[static_cast<size_t>(h.finished ? kEnd : h.ids[0])] += 1.0 / kSamples;
    }
    const double all = std::accumulate(expected.begin(), expected.end(), 0.0);
    for (size_t word = 0; word < share.size(); ++word) {
      const double p = expected[word] / all;
      // Four standard deviations, and three samples more for rare tokens, whose counts are not normally distributed.
      EXPECT_NEAR(share[word], p, 4 * std::sqrt(p * (1 - p) / kSamples) + 3.0 / kSamples) << word;
    }
  }

  std::vector<double> first_probabilities(double temperature) {
    std::vector<double> p = next_log_probs(model, sources, 0, {});
    for (double& x : p) x = std::exp(x / temperature);
    p[kPad] = p[kBegin] = 0;
    return p;
  }
};

TEST_F(SamplingTest, TheSameSeedDrawsTheSame) {
  SearchOptions options{.nbest = 3, .max_length = 10, .sample = true, .seed = 7};
  const auto first = words(options);
  EXPECT_EQ(words(options), first);
  EXPECT_EQ(words(options, 1), first);
  EXPECT_EQ(words(options, 3), first);
  options.seed = 8;
  EXPECT_NE(words(options), first);
}

TEST_F(SamplingTest, FromOneWordIsGreedy) {
  EXPECT_EQ(words({.max_length = 10, .sample = true, .top_k = 1}), words({.max_length = 10}));
  EXPECT_EQ(words({.max_length = 10, .sample = true, .top_p = 1e-6}), words({.max_length = 10}));
}

TEST_F(SamplingTest, WordsAreAsFrequentAsTheyAreProbable) {
  expect_frequencies({}, first_probabilities(1));
  expect_frequencies({.temperature = 0.5}, first_probabilities(0.5));
  expect_frequencies({.temperature = 3}, first_probabilities(3));
}

TEST_F(SamplingTest, TheLikeliestAloneAreDrawn) {
  std::vector<double> p = first_probabilities(1), sorted = p;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  std::vector<double> three = p;
  for (double& x : three) x = x >= sorted[2] ? x : 0;
  expect_frequencies({.top_k = 3}, three);
  // A little less than the probability of the first two, so that both are in the nucleus.
  const double all = std::accumulate(p.begin(), p.end(), 0.0);
  std::vector<double> two = p;
  for (double& x : two) x = x >= sorted[1] ? x : 0;
  expect_frequencies({.top_p = (sorted[0] + sorted[1]) / all - 0.01}, two);
}

}  // namespace
}  // namespace fovea
