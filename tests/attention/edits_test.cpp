// Edits replace attention weights before the weighted sum, in every mechanism.
#include <algorithm>

#include "attention/scene.h"
#include "support.h"

namespace fovea::testing {
namespace {

class Edits : public EveryScore {};

// Edited weights are computed in f32, whatever the dtype of the scores.
double tolerance_of(const Scene& scene) { return std::max(scene.setting.tolerance, 1e-7); }

const SceneSizes kOneSentence{.batch = 1, .lengths = {5}};

template <class Check> void for_each_scene(const std::string& score, Check check) {
  for (const Setting& setting : settings()) {
    for (const AttentionConfig& config : allowed_combinations(score)) {
      SCOPED_TRACE(fmt::format("{} on {}", describe(config), setting.device));
      check(Scene(config, kOneSentence, setting));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST_P(Edits, GiveTheContextOfTheGivenWeights) {
  const std::vector<AttentionEdit> edits = {{.row = 1, .weights = {0.25f, 0, 0, 0.75f, 0}},
                                            {.head = 0, .row = 3, .weights = {0, 2, 0, 0, -1}}};  // used as they are
  for_each_scene(GetParam(), [&](const Scene& scene) {
    const Ask ask{.edits = edits};
    expect_equal(scene.attend(ask), scene.expected(ask), tolerance_of(scene));
  });
}

TEST_P(Edits, TurnAHeadOff) {
  for_each_scene(GetParam(), [&](const Scene& scene) {
    const int64_t last = scene.config.heads - 1;
    for (const AttentionEdit& edit :
         {AttentionEdit{.head = last, .off = true}, AttentionEdit{.off = true}, AttentionEdit{.row = 2, .off = true}}) {
      const Ask ask{.edits = {&edit, 1}};
      expect_equal(scene.attend(ask), scene.expected(ask), tolerance_of(scene));
    }
  });
}

// A row is named by its position, not by its place among the queries of a call.
TEST_P(Edits, NameRowsByPosition) {
  for_each_scene(GetParam(), [&](const Scene& scene) {
    const std::vector<AttentionEdit> edits = {{.row = 6, .weights = {0, 0, 1, 0, 0}}};
    for (const int64_t stride : {0, 1}) {
      for (const int64_t position : {0, 4, 6}) {
        const Ask ask{.position = position, .stride = stride, .edits = edits};
        expect_equal(scene.attend(ask), scene.expected(ask), tolerance_of(scene));
      }
    }
  });
}

// In causal attention a row has as many weights as the query sees keys.
TEST_P(Edits, TakeTheVisibleKeysOfCausalAttention) {
  for_each_scene(GetParam(), [&](const Scene& scene) {
    const std::vector<AttentionEdit> edits = {{.row = 2, .weights = {0.5f, 0, 0.5f}}};
    const Ask ask{.causal = true, .edits = edits};
    expect_equal(scene.attend_to_itself(ask), scene.expected_of_itself(ask), tolerance_of(scene));
  });
}

INSTANTIATE_TEST_SUITE_P(Scores, Edits, ::testing::ValuesIn(names_of(scores())), name_of_test);

TEST(Edits, RefuseHeadsAndRowsThatAreNotThere) {
  AttentionConfig config;
  config.heads = 4;
  const Scene scene(config, kOneSentence);
  const auto attend = [&](const AttentionEdit& edit, bool causal) {
    return scene.attend({.causal = causal, .edits = {&edit, 1}});
  };
  EXPECT_ERROR(attend({.head = 7, .off = true}, false), "edits: expected one of 4 heads, got head 8");
  EXPECT_ERROR(attend({.row = 1, .weights = {1, 0}}, false), "edits: expected 5 weights for row 1, got 2");
  EXPECT_ERROR(attend({.row = 1, .weights = {1, 0, 0}}, true), "edits: expected 2 weights for row 1, got 3");
  EXPECT_NO_THROW(attend({.row = 9, .weights = {1}}, false));  // no query has this position
}

}  // namespace
}  // namespace fovea::testing
