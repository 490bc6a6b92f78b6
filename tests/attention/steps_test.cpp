// A sequence that grows by one position a step, with a KV cache, gives what the whole sequence gives at once.
#include "attention/scene.h"

namespace fovea::testing {
namespace {

class Steps : public EveryScore {};

template <class Check> void for_each_scene(const std::string& score, const SceneSizes& sizes, Check check) {
  for (const Setting& setting : settings()) {
    for (const AttentionConfig& config : allowed_combinations(score)) {
      SCOPED_TRACE(fmt::format("{} on {}", describe(config), setting.device));
      check(Scene(config, sizes, setting));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

Array step_of(const Array& whole, int64_t t) {
  Array step({1, whole.dim(1), whole.dim(2)});
  for (int64_t b = 0; b < whole.dim(1); ++b)
    for (int64_t i = 0; i < whole.dim(2); ++i) step(0, b, i) = whole(t, b, i);
  return step;
}

TEST_P(Steps, OfCausalSelfAttentionAreThoseOfTheWholeSequence) {
  for_each_scene(GetParam(), {.lengths = {6, 6, 6}}, [](const Scene& scene) {
    const AttentionResult whole = scene.attend_to_itself({.causal = true});
    const Array contexts(whole.context.value()), weights(whole.weights.value());
    std::vector<Memory> cache;
    for (int64_t t = 0; t < scene.sizes.keys; ++t) {
      const AttentionResult step = scene.attend_to_itself_at(t, cache);
      expect_near(Array(step.context.value()), step_of(contexts, t), scene.setting.tolerance * kDepth, "context");
      const Array row(step.weights.value());
      ASSERT_EQ(row.shape(), (Shape{3, scene.config.heads, 1, t + 1}));
      for (int64_t b = 0; b < 3; ++b)
        for (int64_t h = 0; h < scene.config.heads; ++h)
          for (int64_t s = 0; s <= t; ++s)
            ASSERT_NEAR(row(b, h, 0, s), weights(b, h, t, s), scene.setting.tolerance) << "step " << t;
    }
  });
}

// Queries to another sequence, one step after the other.
TEST_P(Steps, OfCrossAttentionAreThoseOfTheWholeSequence) {
  for_each_scene(GetParam(), {}, [](const Scene& scene) {
    const Array contexts(scene.attend().context.value());
    const Memory memory = scene.memory();
    for (int64_t t = 0; t < scene.sizes.queries; ++t) {
      const AttentionResult step = scene.attend(memory, scene.queries.slice(t, t + 1), {.position = t});
      expect_near(Array(step.context.value()), step_of(contexts, t), scene.setting.tolerance * kDepth, "context");
    }
  });
}

// The hypotheses of a beam are several queries at one position: stride 0.
TEST_P(Steps, TakeTheHypothesesOfABeamAtOnePosition) {
  for_each_scene(GetParam(), {}, [](const Scene& scene) {
    const Memory memory = scene.memory();
    for (const int64_t position : {0, 2, 7}) {
      const Ask ask{.position = position, .stride = 0};
      expect_equal(scene.attend(ask), scene.expected(ask), scene.setting.tolerance);
      const Array contexts(scene.attend(ask).context.value());
      for (int64_t k = 0; k < scene.sizes.queries; ++k) {
        const AttentionResult alone = scene.attend(memory, scene.queries.slice(k, k + 1), {.position = position});
        expect_near(Array(alone.context.value()), step_of(contexts, k), scene.setting.tolerance * kDepth, "context");
      }
    }
  });
}

// A memory of parts is the memory of the whole: positions that enter keys are counted from the first state.
TEST_P(Steps, GiveAMemoryInParts) {
  for_each_scene(GetParam(), {.lengths = {6, 6, 6}}, [](const Scene& scene) {
    const std::vector<Memory> parts = {scene.memory(0, 1), scene.memory(1, 4), scene.memory(4, 6)};
    const AttentionResult got = scene.attend(Scene::concatenated(parts), scene.queries);
    expect_equal(got, scene.expected(), scene.setting.tolerance);
  });
}

INSTANTIATE_TEST_SUITE_P(Scores, Steps, ::testing::ValuesIn(names_of(scores())), name_of_test);

}  // namespace
}  // namespace fovea::testing
