// Masks: padding, sequences of one key, batches of one sentence, and queries that may attend to nothing.
#include <algorithm>
#include <cmath>

#include "attention/scene.h"

namespace fovea::testing {
namespace {

class Masks : public EveryScore {};

// The sizes that are easily got wrong: one sentence, one query, one key, and a sentence of length 1 in a larger batch.
const SceneSizes kSmallSizes[] = {
    {.batch = 1, .lengths = {6}},
    {.batch = 1, .queries = 1, .keys = 1, .lengths = {1}},
    {.batch = 1, .queries = 1, .lengths = {3}},
    {.queries = 1, .lengths = {6, 1, 2}},
    {.lengths = {1, 1, 1}},
};

TEST_P(Masks, LeaveTheEquationsTrueInSmallBatches) {
  for (const Setting& setting : settings()) {
    for (const AttentionConfig& config : allowed_combinations(GetParam())) {
      for (const SceneSizes& sizes : kSmallSizes) {
        SCOPED_TRACE(fmt::format("{} on {}, batch {}, {} queries, {} keys", describe(config), setting.device,
                                 sizes.batch, sizes.queries, sizes.keys));
        const Scene scene(config, sizes, setting);
        const NaiveResult expected = scene.expected();
        expect_equal(scene.attend(), expected, setting.tolerance);
        expect_equal(scene.attend({.weights = false}), expected, setting.tolerance);
        expect_equal(scene.attend_to_itself({.causal = true}), scene.expected_of_itself({.causal = true}),
                     setting.tolerance);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A sentence without any key has weights and a context of zero before the output projection; nothing is NaN, and the
// other sentences of the batch are as they are without it.
TEST_P(Masks, GiveZeroWeightsWhereNothingIsVisible) {
  for (const Setting& setting : settings()) {
    for (const AttentionConfig& config : allowed_combinations(GetParam())) {
      SCOPED_TRACE(fmt::format("{} on {}", describe(config), setting.device));
      const Scene scene(config, {.lengths = {6, 0, 5}}, setting);
      const AttentionResult got = scene.attend();
      const Array weights(got.weights.value()), context(got.context.value());
      const NaiveResult expected = scene.expected();
      for (int64_t t = 0; t < weights.dim(2); ++t) {
        for (int64_t h = 0; h < weights.dim(1); ++h)
          for (int64_t s = 0; s < weights.dim(3); ++s) ASSERT_EQ(weights(1, h, t, s), 0.0);
        for (int64_t i = 0; i < context.dim(2); ++i)
          ASSERT_NEAR(context(t, 1, i), expected.context(t, 1, i), setting.tolerance);
      }
      expect_near(weights, expected.weights, setting.tolerance, "weights");
      expect_near(context, expected.context, setting.tolerance * kDepth, "context");
      if (HasFatalFailure()) return;
    }
  }
}

// Gradients through such a row are finite, and none reaches its states.
TEST_P(Masks, GiveNoGradientWhereNothingIsVisible) {
  for (const AttentionConfig& config : allowed_combinations(GetParam())) {
    SCOPED_TRACE(describe(config));
    Scene scene(config, {.lengths = {6, 0, 5}});
    Tape tape(scene.setting.device);
    tape.reset();
    const TapeScope tape_scope(tape);
    Gradient gradient(scene.states.value());
    scene.states = Var(scene.states.value(), &gradient);
    const Var context = scene.attend({.weights = false}).context;
    tape.backward(sum(context * scene.random(context.shape(), 4)));
    for (const Parameter& p : scene.parameters.list()) {
      const Array grad(p.grad());
      for (const double x : grad.cells()) ASSERT_TRUE(std::isfinite(x)) << p.name();
    }
    const Array dstates(gradient.tensor());
    double others = 0;
    for (int64_t s = 0; s < dstates.dim(0); ++s) {
      for (int64_t i = 0; i < dstates.dim(2); ++i) {
        ASSERT_EQ(dstates(s, 1, i), 0.0);
        ASSERT_TRUE(std::isfinite(dstates(s, 0, i)));
        others += std::abs(dstates(s, 0, i));
      }
    }
    EXPECT_GT(others, 0.0);
  }
}

// What padding holds does not matter.
TEST_P(Masks, HideWhatPaddingHolds) {
  for (const Setting& setting : settings()) {
    for (const AttentionConfig& config : allowed_combinations(GetParam())) {
      SCOPED_TRACE(fmt::format("{} on {}", describe(config), setting.device));
      Scene scene(config, {}, setting);
      const Array before(scene.attend({.weights = false}).context.value());
      const Var others = scene.random(scene.states.shape(), 7);
      for (int64_t b = 0; b < scene.sizes.batch; ++b) {
        for (int64_t s = scene.sizes.lengths[static_cast<size_t>(b)]; s < scene.sizes.keys; ++s) {
          copy(others.value()[s][b], scene.states.value()[s][b]);
        }
      }
      ASSERT_EQ(Array(scene.attend({.weights = false}).context.value()).cells(), before.cells());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scores, Masks, ::testing::ValuesIn(names_of(scores())), name_of_test);

}  // namespace
}  // namespace fovea::testing
