// Combinations without a meaning are refused by a message that says why and what was expected; all others are allowed.
#include "attention/scene.h"
#include "support.h"

namespace fovea::testing {
namespace {

class Refusals : public EveryScore {};

TEST_P(Refusals, AreExactlyTheDocumentedOnes) {
  for (const AttentionConfig& config : combinations(GetParam())) {
    SCOPED_TRACE(describe(config));
    const std::optional<std::string> message = refusal(config);
    if (message) {
      EXPECT_ERROR(Scene(config), *message);
    } else {
      EXPECT_NO_THROW(Scene{config});
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Scores, Refusals, ::testing::ValuesIn(names_of(scores())), name_of_test);

AttentionConfig config_of(const std::string& score, int64_t heads = 1) {
  AttentionConfig config;
  config.score = score;
  config.heads = heads;
  config.section = "model.attention";  // the messages name the section of the recipe
  return config;
}

TEST(Refusals, NameTheDepthsThatDoNotFit) {
  const SceneSizes sizes{.memory_depth = 32};
  for (const ScoreEntry& entry : scores()) {
    if (!entry.compares_directly) continue;
    const std::string score(entry.name);
    EXPECT_ERROR(Scene(config_of(score), sizes),
                 fmt::format("model.attention.score: {} needs queries and keys of the same size, got 16 and 32; set "
                             "model.bidirectional = false or model.attention.heads above 1, or use the score general "
                             "or additive",
                             score));
    EXPECT_NO_THROW(Scene(config_of(score, 2), sizes));
  }
  EXPECT_ERROR(Scene(config_of("dot", 3)), "model.attention.heads: expected a divisor of the depth 16, got 3");
  AttentionConfig wide = config_of("additive", 4);
  wide.depth = 30;
  EXPECT_ERROR(Scene{wide}, "model.attention.heads: expected a divisor of the depth 30, got 4");
}

TEST(Refusals, NameTheSectionOfTheRecipe) {
  AttentionConfig config = config_of("additive");
  config.relative = "rotary";
  EXPECT_ERROR(Scene{config}, "model.attention.relative: rotary positions need a score that compares");
  config = config_of("additive", 2);
  config.coverage = true;
  EXPECT_ERROR(Scene{config},
               "model.attention.coverage: coverage works with one head: expected model.attention.heads = 1");
}

TEST(Refusals, SayThatASourceIsTooLongForTheLocationScore) {
  AttentionConfig config = config_of("location");
  config.longest = 5;
  const Scene scene(config);
  EXPECT_ERROR(scene.memory(), "model.attention.longest: the location score takes at most 5 tokens, got 6");
  EXPECT_ERROR(scene.memory(4, 6), "model.attention.longest: the location score takes at most 5 tokens, got 6");
  EXPECT_NO_THROW(scene.memory(0, 5));
}

TEST(Refusals, NeedHeadsOfAnEvenDepthForRotaryPositions) {
  AttentionConfig config = config_of("dot", 3);
  config.relative = "rotary";
  const Scene scene(config, {.query_depth = 9, .memory_depth = 9});
  EXPECT_ERROR(scene.memory(), "rotary: expected heads of an even depth, got 3");
}

}  // namespace
}  // namespace fovea::testing
