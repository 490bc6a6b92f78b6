// What selections do while a model trains: hard selection samples (Xu et al. 2015), and weights are dropped.
#include <algorithm>
#include <cmath>

#include "attention/scene.h"

namespace fovea::testing {
namespace {

AttentionConfig hard(const std::string& estimator) {
  AttentionConfig config;
  config.score = "general";
  config.selection = "hard";
  config.estimator = estimator;
  return config;
}

// The softmax that hard selection samples from.
Array soft_weights(const Scene& scene) {
  AttentionConfig config = scene.config;
  config.selection = "soft";
  return Scene(config, scene.sizes, scene.setting).expected().weights;
}

// The key that has all the weight of a row, or -1.
int64_t chosen_key(const Array& weights, int64_t b, int64_t t) {
  for (int64_t s = 0; s < weights.dim(3); ++s) {
    if (weights(b, 0, t, s) == 1.0) return s;
  }
  return -1;
}

// Rows that were drawn have one key, its log-probability in selection_log_prob; the other half of the rows are the
// expected value, the softmax, and have no reward (section 4.1).
TEST(HardSelection, LeavesWhatReinforceNeeds) {
  const Scene scene(hard("reinforce"), {.queries = 200});
  Tape tape(scene.setting.device, 3);
  tape.reset();
  const TapeScope tape_scope(tape);
  const AttentionResult got = scene.attend();
  const Array weights(got.weights.value()), selection_log_prob(got.selection_log_prob.value()),
      entropy(got.entropy.value());
  const Array soft = soft_weights(scene);
  int64_t drawn = 0;
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t t = 0; t < 200; ++t) {
      const int64_t key = chosen_key(weights, b, t);
      double expected_entropy = 0;
      for (int64_t s = 0; s < weights.dim(3); ++s) {
        const double p = soft(b, 0, t, s);
        if (p > 0) expected_entropy -= p * std::log(p);
        ASSERT_NEAR(weights(b, 0, t, s), key < 0 ? p : s == key ? 1.0 : 0.0, 1e-12);
      }
      ASSERT_NEAR(selection_log_prob(b, 0, t), key < 0 ? 0.0 : std::log(soft(b, 0, t, key)), 1e-9);
      ASSERT_NEAR(entropy(b, 0, t), expected_entropy, 1e-9);
      drawn += key < 0 ? 0 : 1;
    }
  }
  EXPECT_NEAR(static_cast<double>(drawn) / 600, 0.5, 0.07);
}

// The same query many times draws each key as often as the softmax says.
TEST(HardSelection, SamplesInProportionToTheSoftmax) {
  constexpr int64_t kDraws = 4000;
  for (const char* estimator : {"reinforce", "straight-through"}) {
    Scene scene(hard(estimator), {.queries = kDraws});
    for (int64_t t = 1; t < kDraws; ++t) copy(scene.queries.value()[0], scene.queries.value()[t]);
    Tape tape(scene.setting.device, 3);
    tape.reset();
    const TapeScope tape_scope(tape);
    const Array weights(scene.attend().weights.value()), soft = soft_weights(scene);
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t s = 0; s < weights.dim(3); ++s) {
        double mean = 0;
        for (int64_t t = 0; t < kDraws; ++t) mean += weights(b, 0, t, s) / kDraws;
        EXPECT_NEAR(mean, soft(b, 0, 0, s), 0.03) << estimator;
      }
    }
  }
}

TEST(HardSelection, TakesOneKeyInDecodingAndLeavesNoReward) {
  for (const char* estimator : {"reinforce", "straight-through"}) {
    const Scene scene(hard(estimator));
    const AttentionResult got = scene.attend();
    EXPECT_FALSE(got.selection_log_prob || got.entropy);
    const Array weights(got.weights.value()), soft = soft_weights(scene);
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t t = 0; t < scene.sizes.queries; ++t) {
        const int64_t key = chosen_key(weights, b, t);
        ASSERT_GE(key, 0);
        for (int64_t s = 0; s < weights.dim(3); ++s) EXPECT_LE(soft(b, 0, t, s), soft(b, 0, t, key));
      }
    }
  }
}

// Straight-through (Bengio et al. 2013): the choice's gradient is given to the softmax, so that queries have the
// gradient that soft selection gives them.
TEST(HardSelection, GivesTheSoftmaxTheGradientOfTheChoice) {
  const auto gradient_of = [](const AttentionConfig& config) {
    Scene scene(config);
    Gradient gradient(scene.queries.value());
    gradient.sum = zeros_like(scene.queries.value());
    scene.queries = Var(scene.queries.value(), &gradient);
    Tape tape(scene.setting.device, 3);
    tape.reset();
    const TapeScope tape_scope(tape);
    const Var context = scene.attend().context;
    tape.backward(sum(context * scene.random(context.shape(), 4)));
    return Array(gradient.sum);
  };
  for (const ScoreEntry& score : scores()) {
    SCOPED_TRACE(score.name);
    AttentionConfig config = hard("straight-through");
    config.score = score.name;
    const Array through = gradient_of(config);
    config.selection = "soft";
    expect_near(through, gradient_of(config), 1e-12, "gradient of the queries");
  }
}

// With values that are the unit vectors the context is the row of dropped weights.
TEST(Dropout, DropsWeightsInTrainingAlone) {
  for (const ScoreEntry& score : scores()) {
    SCOPED_TRACE(score.name);
    AttentionConfig config;
    config.score = score.name;
    config.dropout = 0.25;
    Scene scene(config, {.queries = 40, .keys = kDepth, .lengths = {16, 16, 16}});
    double* x = scene.states.value().data<double>();
    for (int64_t i = 0; i < scene.states.size(); ++i) x[i] = i / (3 * kDepth) == i % kDepth ? 1 : 0;
    const Array weights = scene.expected().weights;
    for (const bool training : {true, false}) {
      Tape tape(scene.setting.device, 3);
      tape.set_training(training);
      tape.reset();
      const TapeScope tape_scope(tape);
      const Array context(scene.attend({.weights = false}).context.value());
      int64_t dropped = 0;
      for (int64_t t = 0; t < 40; ++t) {
        for (int64_t b = 0; b < 3; ++b) {
          for (int64_t s = 0; s < kDepth; ++s) {
            const double weight = weights(b, 0, t, s);
            if (context(t, b, s) == 0) {
              ++dropped;
            } else {
              ASSERT_NEAR(context(t, b, s), training ? weight / 0.75 : weight, 1e-7);
            }
          }
        }
      }
      EXPECT_NEAR(static_cast<double>(dropped) / (40 * 3 * kDepth), training ? 0.25 : 0.0, 0.04);
    }
  }
}

}  // namespace
}  // namespace fovea::testing
