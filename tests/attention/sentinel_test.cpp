// Attention with a sentinel: the sentinel of a query counts as one more state, which no other query sees.
#include <cmath>

#include "attention/scene.h"
#include "support.h"

namespace fovea::testing {
namespace {

std::vector<AttentionConfig> with_sentinel() {
  std::vector<AttentionConfig> all;
  for (const ScoreEntry& score : scores()) {
    if (!score.uses_keys) continue;
    for (const char* selection : {"soft", "sparse", "hard"}) {
      for (const int64_t heads : {1, 4}) {
        AttentionConfig& c = all.emplace_back();
        c.score = score.name;
        c.selection = selection;
        c.heads = heads;
        c.sentinel = true;
      }
    }
  }
  return all;
}

// One query of one sentence over its states and its sentinel, by attention without a sentinel.
AttentionResult alone(const Scene& scene, const Var& sentinels, int64_t b, int64_t t) {
  AttentionConfig plain = scene.config;
  plain.sentinel = false;
  Scene one(plain, {.batch = 1, .queries = 1, .keys = 1, .lengths = {1}}, scene.setting);
  copy(scene.parameters.values(), one.parameters.values());
  one.parameters.values().contents_changed();
  const auto of_sentence = [&](const Var& x, int64_t step) { return x[step][b].reshape({1, 1, x.dim(2)}); };
  std::vector<Var> states;
  for (int64_t s = 0; s < scene.sizes.lengths[static_cast<size_t>(b)]; ++s) {
    states.push_back(of_sentence(scene.states, s));
  }
  states.push_back(of_sentence(sentinels, t));
  return one.attend(one.attention.project_memory(concat(states, 0)), of_sentence(scene.queries, t),
                    {.weights = true, .scores = true});
}

TEST(Sentinel, IsAStateOfItsQueryAlone) {
  for (const Setting& setting : settings()) {
    for (const AttentionConfig& config : with_sentinel()) {
      SCOPED_TRACE(fmt::format("{} on {}", describe(config), setting.device));
      const Scene scene(config, {}, setting);
      const Var sentinels = scene.random(scene.queries.shape(), 4);
      const AttentionResult got = scene.attend({.sentinel = sentinels, .scores = true});
      const Array context(got.context.value()), weights(got.weights.value()), own(got.sentinel.value()),
          scores(got.scores.value()), own_scores(got.sentinel_scores.value());
      for (int64_t b = 0; b < scene.sizes.batch; ++b) {
        const int64_t length = scene.sizes.lengths[static_cast<size_t>(b)];
        for (int64_t t = 0; t < scene.sizes.queries; ++t) {
          const AttentionResult result = alone(scene, sentinels, b, t);
          const Array expected(result.weights.value()), expected_scores(result.scores.value()),
              expected_context(result.context.value());
          for (int64_t h = 0; h < config.heads; ++h) {
            for (int64_t s = 0; s < length; ++s) {
              ASSERT_NEAR(weights(b, h, t, s), expected(0, h, 0, s), setting.tolerance);
              ASSERT_NEAR(scores(b, h, t, s), expected_scores(0, h, 0, s), setting.tolerance * kDepth);
            }
            for (int64_t s = length; s < scene.sizes.keys; ++s) ASSERT_EQ(weights(b, h, t, s), 0);
            ASSERT_NEAR(own(b, h, t, 0), expected(0, h, 0, length), setting.tolerance);
            ASSERT_NEAR(own_scores(b, h, t, 0), expected_scores(0, h, 0, length), setting.tolerance * kDepth);
          }
          for (int64_t d = 0; d < context.shape()[2]; ++d) {
            ASSERT_NEAR(context(t, b, d), expected_context(0, 0, d), setting.tolerance * kDepth);
          }
        }
      }
    }
  }
}

// A window masks states, never the sentinel; a penalty of distance does not concern it.
TEST(Sentinel, IsSeenFromEveryWindow) {
  AttentionConfig config;
  config.score = "dot";
  config.scope = "local-m";
  config.window = 1;
  config.relative = "alibi";
  config.sentinel = true;
  const Scene scene(config);
  const Var sentinels = scene.random(scene.queries.shape(), 4);
  const AttentionResult got = scene.attend({.sentinel = sentinels});
  const Array weights(got.weights.value()), own(got.sentinel.value()), states(scene.states.value()),
      queries(scene.queries.value()), sentinel(sentinels.value());
  const double slope = std::exp2(-8.0);
  for (int64_t b = 0; b < scene.sizes.batch; ++b) {
    const int64_t length = scene.sizes.lengths[static_cast<size_t>(b)];
    for (int64_t t = 0; t < scene.sizes.queries; ++t) {
      const auto dot = [&](const Array& x, int64_t at) {
        double sum = 0;
        for (int64_t d = 0; d < kDepth; ++d) sum += queries(t, b, d) * x(at, b, d);
        return std::exp(sum);
      };
      std::vector<double> expected;
      double total = dot(sentinel, t);
      for (int64_t s = 0; s < scene.sizes.keys; ++s) {
        const bool inside = s < length && std::abs(s - std::min(t, length - 1)) <= 1;
        expected.push_back(inside ? dot(states, s) * std::exp(-slope * static_cast<double>(std::abs(s - t))) : 0.0);
        total += expected.back();
      }
      for (int64_t s = 0; s < scene.sizes.keys; ++s) {
        ASSERT_NEAR(weights(b, 0, t, s), expected[static_cast<size_t>(s)] / total, 1e-7) << b << " " << t << " " << s;
      }
      ASSERT_NEAR(own(b, 0, t, 0), dot(sentinel, t) / total, 1e-7);
    }
  }
}

TEST(Sentinel, TakesTheLastWeightOfAnEdit) {
  for (const int64_t heads : {1, 4}) {
    AttentionConfig config;
    config.heads = heads;
    config.sentinel = true;
    const Scene scene(config, {.batch = 1, .lengths = {5}});
    const Var sentinels = scene.random(scene.queries.shape(), 4);
    const auto edited = [&](const AttentionEdit& edit) {
      return scene.attend({.sentinel = sentinels, .edits = {&edit, 1}});
    };
    const AttentionResult all = edited({.row = 2, .weights = {0.25f, 0, 0, 0.5f, 0, 0.25f}});
    EXPECT_EQ(Array(all.sentinel.value())(0, 0, 2, 0), 0.25);
    EXPECT_EQ(Array(all.weights.value())(0, heads - 1, 2, 3), 0.5);
    const AttentionResult states = edited({.row = 2, .weights = {0, 0, 1, 0, 0}});
    EXPECT_EQ(Array(states.sentinel.value())(0, 0, 2, 0), 0);
    EXPECT_GT(Array(states.sentinel.value())(0, 0, 1, 0), 0);
    EXPECT_EQ(Array(states.weights.value())(0, 0, 2, 2), 1);
    const AttentionResult off = edited({.row = 2, .off = true});
    EXPECT_EQ(Array(off.sentinel.value())(0, 0, 2, 0), 0);
    EXPECT_ERROR(edited({.row = 2, .weights = {1, 0}}), "edits: expected 6 weights for row 2, got 2");
    if (heads > 1) continue;
    const Array context(all.context.value()), states_of(scene.states.value()), own(sentinels.value());
    for (int64_t d = 0; d < kDepth; ++d) {
      EXPECT_NEAR(context(2, 0, d), 0.25 * states_of(0, 0, d) + 0.5 * states_of(3, 0, d) + 0.25 * own(2, 0, d), 1e-12);
      EXPECT_EQ(Array(off.context.value())(2, 0, d), 0);
    }
  }
}

TEST(Sentinel, IsRefusedWhereItHasNoScore) {
  AttentionConfig config;
  config.section = "model.attention";
  config.sentinel = true;
  EXPECT_ERROR(Scene(config).attend(),
               "model.attention.sentinel: expected a recurrent decoder that computes a sentinel");
  config.scope = "local-p";
  EXPECT_ERROR(Scene{config},
               "model.attention.sentinel: the window of local-p has no place for a sentinel: expected "
               "model.attention.scope = global or local-m");
  config.scope = "global";
  config.score = "location";
  EXPECT_ERROR(
      Scene{config},
      "model.attention.sentinel: the location score does not use keys: expected model.attention.score = dot, ");
}

}  // namespace
}  // namespace fovea::testing
