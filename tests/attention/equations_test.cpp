// Attention gives what the papers' equations give, for every combination of mechanisms that is allowed, on every
// device of the build.
#include "attention/scene.h"

namespace fovea::testing {
namespace {

class Equations : public EveryScore {};

// Runs a check for every allowed combination of the score on every device.
template <class Check> void for_each_scene(const std::string& score, Check check) {
  for (const Setting& setting : settings()) {
    for (const AttentionConfig& config : allowed_combinations(score)) {
      SCOPED_TRACE(fmt::format("{} on {}", describe(config), setting.device));
      const Scene scene(config, {}, setting);
      check(scene);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// [B,H,T,S] of earlier attention weights, where a configuration has coverage.
Var some_coverage(const Scene& scene) {
  if (!scene.config.coverage) return {};
  return square(scene.random({scene.sizes.batch, 1, scene.sizes.queries, scene.sizes.keys}, 3));
}

TEST_P(Equations, HoldForQueriesToAnotherSequence) {
  for_each_scene(GetParam(), [](const Scene& scene) {
    for (const int64_t position : {0, 3}) {
      const Ask ask{.position = position, .coverage = some_coverage(scene), .scores = true};
      const AttentionResult got = scene.attend(ask);
      ASSERT_TRUE(got.weights && got.scores);
      expect_equal(got, scene.expected(ask), scene.setting.tolerance);
    }
  });
}

// Fused kernels compute contexts without weights.
TEST_P(Equations, HoldWhereWeightsAreNotWanted) {
  for_each_scene(GetParam(), [](const Scene& scene) {
    const Ask ask{.weights = false};
    const NaiveResult expected = scene.expected(ask);
    expect_equal(scene.attend(ask), expected, scene.setting.tolerance);
    expect_equal(scene.attend_together(ask), expected, scene.setting.tolerance);
  });
}

TEST_P(Equations, HoldForASequenceToItself) {
  for_each_scene(GetParam(), [](const Scene& scene) {
    for (const bool causal : {false, true}) {
      const Ask ask{.causal = causal, .scores = true};
      expect_equal(scene.attend_to_itself(ask), scene.expected_of_itself(ask), scene.setting.tolerance);
    }
  });
}

TEST_P(Equations, HoldWhileATapeRecords) {
  for_each_scene(GetParam(), [](const Scene& scene) {
    if (scene.config.selection == "hard") return;  // samples in training: see selection_test.cpp
    Tape tape(scene.setting.device);
    tape.reset();
    const TapeScope tape_scope(tape);
    const Ask ask{.coverage = some_coverage(scene)};
    expect_equal(scene.attend(ask), scene.expected(ask), scene.setting.tolerance);
  });
}

// The coverage that a step leaves is the coverage that it was given plus its weights.
TEST_P(Equations, HoldForCoverage) {
  for_each_scene(GetParam(), [](const Scene& scene) {
    const AttentionResult first = scene.attend();
    ASSERT_EQ(static_cast<bool>(first.coverage), scene.config.coverage);
    if (!scene.config.coverage) return;
    expect_near(Array(first.coverage.value()), scene.expected().weights, scene.setting.tolerance, "coverage");
    const Ask ask{.position = 1, .coverage = first.coverage};
    const AttentionResult second = scene.attend(ask);
    const NaiveResult expected = scene.expected(ask);
    expect_equal(second, expected, scene.setting.tolerance);
    Array sum = expected.weights;
    for (int64_t b = 0; b < sum.dim(0); ++b)
      for (int64_t t = 0; t < sum.dim(2); ++t)
        for (int64_t s = 0; s < sum.dim(3); ++s) sum(b, 0, t, s) += Array(first.weights.value())(b, 0, t, s);
    expect_near(Array(second.coverage.value()), sum, scene.setting.tolerance, "coverage");
  });
}

// Where the depths differ: a score with a matrix between queries and keys, or several heads.
TEST_P(Equations, HoldForStatesOfAnotherDepth) {
  const SceneSizes sizes{.memory_depth = 24};
  for (const AttentionConfig& config : allowed_combinations(GetParam())) {
    SCOPED_TRACE(describe(config));
    if (config.heads == 1 && score_of(config).compares_directly) continue;  // refused
    const Scene scene(config, sizes);
    expect_equal(scene.attend({.scores = true}), scene.expected(), scene.setting.tolerance);
    EXPECT_EQ(scene.attention.context_depth(), config.heads > 1 ? kDepth : 24);
  }
}

// The depth in which queries and keys are compared may be a third one.
TEST_P(Equations, HoldForAnotherDepthOfComparison) {
  for (AttentionConfig config : allowed_combinations(GetParam())) {
    if (config.heads == 1 && !score_of(config).uses_depth && config.scope != "local-p") continue;
    SCOPED_TRACE(describe(config));
    config.depth = 64;
    const Scene scene(config);
    expect_equal(scene.attend({.scores = true}), scene.expected(), scene.setting.tolerance * 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Scores, Equations, ::testing::ValuesIn(names_of(scores())), name_of_test);

}  // namespace
}  // namespace fovea::testing
