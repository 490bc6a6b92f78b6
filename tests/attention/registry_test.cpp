// The registries are what help, recipes, documents and tests read: each entry has a name of its own and says what it
// is.
#include "attention/registry.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "attention/scene.h"
#include "support.h"

namespace fovea::testing {
namespace {

template <class Entries> void expect_described(const Entries& entries) {
  std::set<std::string_view> names;
  for (const auto& entry : entries) {
    SCOPED_TRACE(entry.name);
    EXPECT_TRUE(names.insert(entry.name).second) << "a name that is there twice";
    EXPECT_FALSE(entry.help.empty());
    if (entry.name == "none") continue;
    EXPECT_FALSE(entry.equation.empty());
    EXPECT_FALSE(entry.paper.empty());
    EXPECT_FALSE(entry.cost.empty());
  }
}

TEST(Registry, DescribesEveryMechanism) {
  expect_described(scores());
  expect_described(scopes());
  expect_described(selections());
  expect_described(relatives());
}

TEST(Registry, FindsScoresByName) {
  for (const ScoreEntry& entry : scores()) EXPECT_EQ(find_entry(scores(), entry.name), &entry);
  EXPECT_EQ(find_entry(scores(), "dott"), nullptr);
  AttentionConfig config;
  config.score = "dott";
  Parameters parameters(Device::reference());
  EXPECT_ERROR(Attention(parameters, "a", config, 4, 4),
               fmt::format("attention.score: expected one of {}, got dott", fmt::join(names_of(scores()), ", ")));
}

TEST(Registry, NamesAMechanismForPeople) {
  AttentionConfig config;
  EXPECT_EQ(config.mechanism(), "additive, global, soft");
  config.score = "dot";
  config.scope = "local-m";
  config.selection = "hard";
  config.heads = 8;
  config.relative = "alibi";
  config.coverage = true;
  config.sentinel = true;
  EXPECT_EQ(config.mechanism(), "dot, local-m, hard, 8 heads, alibi, coverage, sentinel");
}

}  // namespace
}  // namespace fovea::testing
