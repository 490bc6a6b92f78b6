// The captured scores of attention are those that the weights were computed from, in every model and mechanism, and
// capturing them does not change the search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "decode/test_models.h"

namespace fovea {
namespace {

constexpr int64_t kWords = 11;

// One row of an attention, without masked cells.
struct Row {
  std::vector<double> weights, scores, places;
  double center = 0;  // local-p
};

Row row_of(const HypothesisWeights& w, int64_t head, int64_t t, const AttentionConfig& config) {
  Row row;
  const auto at = static_cast<size_t>((head * w.rows + t) * w.columns);
  const bool self = w.kind == AttentionKind::kDecoderSelf;
  if (!w.centers.empty()) row.center = w.centers[static_cast<size_t>(head * w.rows + t)];
  for (int64_t s = 0; s < w.columns; ++s) {
    if (self && s > t) continue;
    if (config.scope == "local-m" && std::abs(s - std::min(t, w.columns - 1)) > config.window) continue;
    row.weights.push_back(w.weights[at + static_cast<size_t>(s)]);
    row.scores.push_back(w.scores[at + static_cast<size_t>(s)]);
    row.places.push_back(static_cast<double>(s));
  }
  if (config.sentinel) {
    row.weights.push_back(w.sentinel[static_cast<size_t>(head * w.rows + t)]);
    row.scores.push_back(w.sentinel_scores[static_cast<size_t>(head * w.rows + t)]);
  }
  return row;
}

void expect_softmax(const Row& row) {
  double total = 0;
  for (const double score : row.scores) total += std::exp(score);
  for (size_t i = 0; i < row.scores.size(); ++i) EXPECT_NEAR(row.weights[i], std::exp(row.scores[i]) / total, 1e-5);
}

// w_s = max(0, e_s - tau), and the weights sum to 1 (Martins & Astudillo 2016).
void expect_sparsemax(const Row& row) {
  double low = *std::min_element(row.scores.begin(), row.scores.end()) - 1,
         high = *std::max_element(row.scores.begin(), row.scores.end());
  for (int i = 0; i < 100; ++i) {
    const double tau = (low + high) / 2;
    double sum = 0;
    for (const double score : row.scores) sum += std::max(0.0, score - tau);
    (sum > 1 ? low : high) = tau;
  }
  for (size_t i = 0; i < row.scores.size(); ++i) {
    EXPECT_NEAR(row.weights[i], std::max(0.0, row.scores[i] - low), 1e-5);
  }
}

void expect_argmax(const Row& row) {
  const auto chosen = std::find(row.weights.begin(), row.weights.end(), 1.0) - row.weights.begin();
  if (chosen == std::ssize(row.weights)) return;  // local-p: outside of its window
  EXPECT_EQ(row.scores[static_cast<size_t>(chosen)], *std::max_element(row.scores.begin(), row.scores.end()));
}

// Softmax times a Gaussian of sigma = w/2 within the window, made to sum to 1 (Luong et al. 2015).
void expect_gaussian(const Row& row, double window) {
  std::vector<double> expected;
  double total = 0;
  for (size_t i = 0; i < row.scores.size(); ++i) {
    const double distance = row.places[i] - row.center, sigma = window / 2;
    const bool inside = std::abs(distance) <= window;
    expected.push_back(inside ? std::exp(row.scores[i] - distance * distance / (2 * sigma * sigma)) : 0.0);
    total += expected.back();
  }
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(row.weights[i], expected[i] / total, 2e-5);
}

void expect_made_of_scores(const Hypothesis& h, const ModelConfig& model) {
  ASSERT_FALSE(h.weights.empty());
  for (const HypothesisWeights& w : h.weights) {
    ASSERT_EQ(w.scores.size(), w.weights.size());
    const AttentionConfig& config = w.kind == AttentionKind::kCross ? model.attention : model.self_attention;
    for (int64_t head = 0; head < w.heads; ++head) {
      for (int64_t t = 0; t < w.rows; ++t) {
        const Row row = row_of(w, head, t, config);
        if (config.selection == "hard") {
          expect_argmax(row);
        } else if (config.selection == "sparse") {
          expect_sparsemax(row);
        } else if (config.scope == "local-p") {
          expect_gaussian(row, static_cast<double>(config.window));
        } else {
          expect_softmax(row);
        }
      }
    }
  }
}

// All mechanisms, and the other settings that enter the scores.
std::vector<Setup> setups_of(const std::string& architecture) {
  std::vector<Setup> all = mechanisms(architecture);
  for (const char* relative : {"alibi", "rotary", "shaw"}) {
    Setup& setup = all.emplace_back(Setup{relative, small_config(architecture)});
    setup.config.attention.score = setup.config.self_attention.score = "scaled-dot";
    setup.config.attention.relative = setup.config.self_attention.relative = relative;
  }
  if (architecture_named(architecture).recurrent) {
    all.push_back({"coverage", small_config(architecture)});
    all.back().config.attention.coverage = true;
    for (const char* selection : {"soft", "sparse", "hard"}) {
      Setup& setup = all.emplace_back(Setup{fmt::format("sentinel, {}", selection), small_config(architecture)});
      setup.config.cell = "lstm";
      setup.config.attention.sentinel = true;
      setup.config.attention.selection = selection;
    }
  }
  return all;
}

class AttentionScores : public ::testing::TestWithParam<std::string> {};

TEST_P(AttentionScores, AreWhatWeightsAreMadeOf) {
  const ParallelCorpus sources = some_sources(kWords);
  for (const auto& setup : setups_of(GetParam())) {
    SCOPED_TRACE(setup.name);
    const SmallModel small(setup.config, kWords, 3);
    SearchOptions options{.beam = 2, .max_length = 7, .capture_weights = true};
    const auto plain = find_with(small, sources, options);
    options.capture_scores = true;
    const auto found = find_with(small, sources, options);
    for (const size_t i : {1, 2, 6}) {
      EXPECT_EQ(found[i][0].ids, plain[i][0].ids);
      EXPECT_EQ(found[i][0].log_probs, plain[i][0].log_probs);
      expect_made_of_scores(found[i][0], setup.config);
      EXPECT_TRUE(plain[i][0].weights[0].scores.empty());
    }
    ParallelCorpus pairs;
    for (const int64_t i : {1, 2, 6}) {
      pairs.source.append(sources.source[i]);
      pairs.target.append(found[static_cast<size_t>(i)][0].ids);
    }
    const EncoderDecoder* const models[] = {small.model.get()};
    for (const Hypothesis& h : score(models, pairs, batches_of(2), {.capture_scores = true}, Device::cpu())) {
      expect_made_of_scores(h, setup.config);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, AttentionScores, ::testing::ValuesIn(attending_models()));

}  // namespace
}  // namespace fovea
