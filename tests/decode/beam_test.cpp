// A beam that is wide enough finds all targets; targets obey the limits of their length and of repeated n-grams.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "base/threads.h"
#include "decode/test_models.h"
#include "support.h"

namespace fovea {
namespace {

constexpr int64_t kWords = 6, kLongest = 3;  // two tokens besides the special ones

Setup setup_named(const std::string& name) {
  for (const Setup& setup : setups()) {
    if (setup.name == name) return setup;
  }
  return {};
}

// All possible targets, in the order of search().
void enumerate(const SmallModel& model, const ParallelCorpus& sources, int64_t row, const Hypothesis& before,
               std::vector<Hypothesis>& all) {
  const std::vector<double> log_probs = next_log_probs(model, sources, row, before.ids);
  for (const int32_t word : {kUnknown, kEnd, 4, 5}) {
    Hypothesis h = before;
    h.log_probability += log_probs[static_cast<size_t>(word)];
    h.log_probs.push_back(static_cast<float>(log_probs[static_cast<size_t>(word)]));
    h.finished = word == kEnd;
    if (!h.finished) h.ids.push_back(word);
    if (h.finished || std::ssize(h.ids) == kLongest) {
      all.push_back(h);
    } else {
      enumerate(model, sources, row, h, all);
    }
  }
}

class ExhaustiveTest : public ::testing::TestWithParam<Setup> {};

TEST_P(ExhaustiveTest, AWideBeamFindsEverything) {
  if (GetParam().config.copy == "pointer") GTEST_SKIP() << "all tokens that are not in the source are equally unlikely";
  const SmallModel model(GetParam().config, kWords, 5, -0.5f);
  const ParallelCorpus sources = some_sources(kWords);
  for (const double alpha : {0.0, 0.6, 1.5}) {
    const SearchOptions options{
        .beam = 40, .nbest = 40, .length_penalty = alpha, .max_length = kLongest, .allow_unknown = true};
    const auto found = find_with(model, sources, options);
    for (int64_t row = 0; row < 3; ++row) {
      std::vector<Hypothesis> all;
      enumerate(model, sources, row, {}, all);
      for (Hypothesis& h : all) {
        h.score = h.log_probability / std::pow((5.0 + static_cast<double>(h.log_probs.size())) / 6.0, alpha);
      }
      std::sort(all.begin(), all.end(), [](const Hypothesis& a, const Hypothesis& b) {
        return a.finished != b.finished ? a.finished : a.score > b.score;
      });
      const std::vector<Hypothesis>& got = found[static_cast<size_t>(row)];
      ASSERT_EQ(all.size(), 40U);
      ASSERT_EQ(got.size(), all.size());
      for (size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(got[i].ids, all[i].ids) << i;
        EXPECT_EQ(got[i].finished, all[i].finished) << i;
        EXPECT_NEAR(got[i].score, all[i].score, 1e-5 * (1 + std::abs(all[i].score))) << i;
      }
    }
    // With a beam that holds all hypotheses, stopping early finds the same.
    SearchOptions one = options;
    one.nbest = 1;
    const auto best = find_with(model, sources, one);
    for (size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i][0].ids, found[i][0].ids) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ExhaustiveTest, ::testing::ValuesIn(setups()),
                         [](const auto& test) { return test.param.name; });

class RulesTest : public ::testing::Test {
 protected:
  SmallModel model{setup_named("bahdanau").config, 11, 3, -1.0f};
  std::vector<std::vector<Hypothesis>> find(const SearchOptions& options) {
    return find_with(model, some_sources(11), options);
  }
};

TEST_F(RulesTest, NoRunOfWordsOccursTwice) {
  for (const int64_t beam : {1, 3}) {
    for (const int64_t n : {1, 2, 3}) {
      const SearchOptions options{.beam = beam, .nbest = beam, .no_repeat_ngram = n, .max_length = 30};
      for (const auto& sentence : find(options)) {
        for (const Hypothesis& h : sentence) {
          std::set<std::vector<int32_t>> seen;
          for (auto at = h.ids.begin(); std::distance(at, h.ids.end()) >= n; ++at) {
            EXPECT_TRUE(seen.insert(std::vector<int32_t>(at, at + n)).second);
          }
        }
      }
    }
  }
}

TEST_F(RulesTest, WithEveryWordForbiddenWhatWasThereIsReturned) {
  // There are seven tokens that must not be repeated, and the target must have at least twenty.
  for (const bool sample : {false, true}) {
    for (const auto& sentence : find({.no_repeat_ngram = 1, .min_length = 20, .max_length = 30, .sample = sample})) {
      ASSERT_EQ(sentence.size(), 1U);
      EXPECT_EQ(sentence[0].ids.size(), 7U);
      EXPECT_FALSE(sentence[0].finished);
    }
  }
}

TEST_F(RulesTest, TheUnknownTokenIsGeneratedOnlyIfAllowed) {
  const auto unknown = [&](const SearchOptions& options) {
    int64_t count = 0;
    for (const auto& sentence : find(options)) {
      for (const Hypothesis& h : sentence) count += std::count(h.ids.begin(), h.ids.end(), kUnknown);
    }
    return count;
  };
  SearchOptions beam{.beam = 3, .nbest = 3, .no_repeat_ngram = 1, .min_length = 7, .max_length = 30};
  SearchOptions sample{.min_length = 30, .max_length = 60, .sample = true};
  for (SearchOptions* options : {&beam, &sample}) {
    EXPECT_EQ(unknown(*options), 0);
    options->allow_unknown = true;
    EXPECT_GT(unknown(*options), 0);
  }
}

TEST_F(RulesTest, LengthsStayWithinTheirLimits) {
  const ParallelCorpus sources = some_sources(11);
  for (const int64_t beam : {1, 3}) {
    for (const auto& sentence : find({.beam = beam, .nbest = beam, .min_length = 4, .max_length = 6})) {
      for (const Hypothesis& h : sentence) {
        EXPECT_GE(h.ids.size(), 4U);
        EXPECT_LE(h.log_probs.size(), 6U);
        EXPECT_TRUE(h.finished || h.ids.size() == 6);
      }
    }
    // One token for each source token and the end mark, and 20 more.
    const auto found = find({.beam = beam, .min_length = 100, .max_length = 200, .max_ratio = 1.0});
    for (const auto& sentence : found) EXPECT_EQ(sentence[0].log_probs.size(), 101U);
    const auto cut = find({.beam = beam, .no_repeat_ngram = 0, .min_length = 10, .max_length = 200, .max_ratio = 1.0});
    for (size_t i = 0; i < cut.size(); ++i) {
      EXPECT_LE(std::ssize(cut[i][0].log_probs), sources.source.length(static_cast<int64_t>(i)) + 21);
    }
  }
}

TEST_F(RulesTest, CoverageIsPaidFor) {
  SearchOptions options{.beam = 4, .nbest = 4, .length_penalty = 0.5, .coverage_penalty = 0.3, .max_length = 8};
  options.capture_weights = true;
  for (const auto& sentence : find(options)) {
    for (const Hypothesis& h : sentence) {
      ASSERT_EQ(h.weights.size(), 1U);
      const HypothesisWeights& w = h.weights[0];
      double expected = h.log_probability / std::sqrt((5.0 + static_cast<double>(h.log_probs.size())) / 6.0);
      for (int64_t s = 0; s < w.columns; ++s) {
        double seen = 0;
        for (int64_t t = 0; t < w.rows; ++t)
          seen += static_cast<double>(w.weights[static_cast<size_t>(t * w.columns + s)]);
        expected += 0.3 * std::log(std::min(seen, 1.0));
      }
      EXPECT_NEAR(h.score, expected, 1e-5);
    }
  }
}

TEST_F(RulesTest, WhatDoesNotGoTogetherIsRefused) {
  EXPECT_ERROR(find({.beam = 2, .nbest = 3}), "nbest: expected at most the beam size of 2, got 3");
  EXPECT_ERROR(find({.beam = 2, .sample = true}), "sample: sampling needs a beam size of 1, got 2");
  EXPECT_ERROR(find({.temperature = 0.5}), "temperature, top_k and top_p have an effect with sampling only");
  EXPECT_ERROR(find({.sample = true, .top_p = 0}), "top_p: expected a probability above 0, got 0");
  EXPECT_ERROR(find({.min_length = 9, .max_length = 9}),
               "min_length: expected less than max_length, which is 9, got 9");
  EXPECT_ERROR(find({.beam = 0}), "beam: expected an integer of at least 1 and at most 1000, got 0");
  EXPECT_ERROR(search({}, some_sources(11), batches_of(1), {}, Device::cpu()), "search: expected a model, got none");
  EXPECT_ERROR(score_with(model, some_sources(11)), "score: expected targets, got sources only");
  const SmallModel blind(setup_named("rnn_seq2seq").config, 11, 3);
  EXPECT_ERROR(find_with(blind, some_sources(11), {.coverage_penalty = 1}),
               "coverage_penalty: expected a model that attends to its source, got one without attention");
}

TEST_F(RulesTest, TellsHowFarItIs) {
  const ThreadCountScope one(1);
  std::vector<int64_t> told;
  const EncoderDecoder* const models[] = {model.model.get()};
  const auto found = search(models, some_sources(11), batches_of(4), {.max_length = 4}, Device::cpu(),
                            [&](int64_t finished) { told.push_back(finished); });
  EXPECT_EQ(told, (std::vector<int64_t>{3, 7, 11}));  // the longest sentences are first, in the smallest batch
  EXPECT_TRUE(search(models, ParallelCorpus(), batches_of(4), {}, Device::cpu()).empty());
}

}  // namespace
}  // namespace fovea
