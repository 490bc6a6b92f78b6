// The weights of a hypothesis are those of its decoding steps, and an ensemble decodes with the mean of its models.
#include <gtest/gtest.h>

#include <cmath>

#include "decode/test_models.h"
#include "support.h"

namespace fovea {
namespace {

class WeightsTest : public ::testing::TestWithParam<Setup> {
 protected:
  SmallModel small{GetParam().config, 11, 3};
  ParallelCorpus sources = some_sources(11);
};

// Compares cell by cell; the teacher-forced target has one row more where the hypothesis is not finished.
void expect_same(const HypothesisWeights& got, const HypothesisWeights& forced) {
  EXPECT_EQ(got.kind, forced.kind);
  EXPECT_EQ(got.layer, forced.layer);
  ASSERT_EQ(got.heads, forced.heads);
  for (int64_t h = 0; h < got.heads; ++h) {
    for (int64_t t = 0; t < got.rows; ++t) {
      double total = 0;
      for (int64_t s = 0; s < got.columns; ++s) {
        const float x = got.weights[static_cast<size_t>((h * got.rows + t) * got.columns + s)];
        EXPECT_NEAR(x, forced.weights[static_cast<size_t>((h * forced.rows + t) * forced.columns + s)], 2e-5);
        total += static_cast<double>(x);
      }
      if (!got.sentinel.empty()) {
        const float x = got.sentinel[static_cast<size_t>(h * got.rows + t)];
        EXPECT_NEAR(x, forced.sentinel[static_cast<size_t>(h * forced.rows + t)], 2e-5);
        total += static_cast<double>(x);
      }
      EXPECT_NEAR(total, 1.0, 1e-5);
    }
  }
}

TEST_P(WeightsTest, FollowAHypothesisBack) {
  SearchOptions options{.beam = 3, .nbest = 3, .max_length = 10};
  const auto plain = find_with(small, sources, options);
  options.capture_weights = true;
  const auto kept = find_with(small, sources, options);
  for (size_t n = 0; n < 3; ++n) {
    ParallelCorpus pairs = sources;
    for (const auto& sentence : kept) pairs.target.append(sentence[n].ids);
    const std::vector<Hypothesis> scored = score_with(small, pairs, true);
    for (size_t i = 0; i < kept.size(); ++i) {
      const Hypothesis& h = kept[i][n];
      EXPECT_EQ(h.ids, plain[i][n].ids);
      EXPECT_EQ(h.log_probs, plain[i][n].log_probs);  // to the bit
      EXPECT_EQ(h.score, plain[i][n].score);
      EXPECT_TRUE(plain[i][n].weights.empty());
      const int64_t source = sources.source.length(static_cast<int64_t>(i)) + 1;
      ASSERT_EQ(h.weights.size(), scored[i].weights.size());
      EXPECT_EQ(h.weights.empty(), small.model->attentions().empty());
      for (size_t w = 0; w < h.weights.size(); ++w) {
        const bool encoder = h.weights[w].kind == AttentionKind::kEncoderSelf;
        const bool self = h.weights[w].kind == AttentionKind::kDecoderSelf;
        EXPECT_EQ(h.weights[w].rows, encoder ? source : std::ssize(h.log_probs));
        EXPECT_EQ(h.weights[w].columns, self ? std::ssize(h.log_probs) : source);
        EXPECT_EQ(std::ssize(h.weights[w].weights), h.weights[w].heads * h.weights[w].rows * h.weights[w].columns);
        // Both decoding and teacher forcing return encoder self-attention first.
        expect_same(h.weights[w], scored[i].weights[w]);
      }
    }
  }
}

TEST_P(WeightsTest, TwoOfOneModelAreThatModel) {
  const SearchOptions options{.beam = 2, .nbest = 2, .max_length = 10};
  const auto one = find_with(small, sources, options);
  const EncoderDecoder* const twice[] = {small.model.get(), small.model.get()};
  const auto two = search(twice, sources, batches_of(32), options, Device::cpu());
  for (size_t i = 0; i < one.size(); ++i) {
    for (size_t n = 0; n < 2; ++n) {
      EXPECT_EQ(one[i][n].ids, two[i][n].ids);
      EXPECT_NEAR(one[i][n].score, two[i][n].score, 5e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, WeightsTest, ::testing::ValuesIn(setups()),
                         [](const auto& test) { return test.param.name; });

TEST(EnsembleTest, GivesTheMeanOfProbabilities) {
  const SmallModel a(setups()[1].config, 11, 3), b(setups().back().config, 11, 4);
  const EncoderDecoder* const both[] = {a.model.get(), b.model.get()};
  SearchOptions options{.beam = 2, .max_length = 10};
  options.capture_weights = true;
  const auto found = search(both, some_sources(11), batches_of(4), options, Device::cpu());
  ParallelCorpus pairs = some_sources(11);
  for (const auto& sentence : found) pairs.target.append(sentence[0].ids);
  const std::vector<Hypothesis> by_a = score_with(a, pairs), by_b = score_with(b, pairs);
  const std::vector<Hypothesis> by_both = score(both, pairs, batches_of(4), {.capture_weights = true}, Device::cpu());
  for (size_t i = 0; i < found.size(); ++i) {
    for (size_t t = 0; t < by_both[i].log_probs.size(); ++t) {
      const double mean = std::log(
          (std::exp(static_cast<double>(by_a[i].log_probs[t])) + std::exp(static_cast<double>(by_b[i].log_probs[t]))) /
          2);
      EXPECT_NEAR(by_both[i].log_probs[t], mean, 1e-5);
      if (t < found[i][0].log_probs.size()) {
        EXPECT_NEAR(found[i][0].log_probs[t], mean, 2e-5);
      }
    }
    EXPECT_EQ(found[i][0].weights.front().model, 0);
    EXPECT_EQ(found[i][0].weights.back().model, 1);
    ASSERT_EQ(found[i][0].weights.size(), by_both[i].weights.size());
  }
}

TEST(EnsembleTest, NeedsOneVocabulary) {
  const SmallModel a(setups()[1].config, 11, 3), b(setups()[1].config, 12, 4);
  const EncoderDecoder* const both[] = {a.model.get(), b.model.get()};
  EXPECT_ERROR(search(both, some_sources(11), batches_of(4), {}, Device::cpu()),
               "ensemble: expected models with the same vocabulary, got 11 and 12 tokens");
}

}  // namespace
}  // namespace fovea
