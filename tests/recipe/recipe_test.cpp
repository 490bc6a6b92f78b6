#include "recipe/recipe.h"

#include <gtest/gtest.h>

#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

constexpr const char* kSmallest = "folder = \"x\"\n[data]\ngenerator = \"dates\"\n[training]\nepochs = 1\n";

TEST(Recipe, IsRead) {
  const TemporaryFolder folder;
  const std::string path =
      folder.file("r.toml", std::string(kSmallest) + "learning_rate = 1\n[model.attention]\nscore = \"dot\"\n");
  const std::vector<std::string> changes = {"model.hidden=64", "data.generator=reverse"};
  const Recipe recipe = read_recipe(path, changes);
  EXPECT_EQ(recipe.folder, "x");
  EXPECT_EQ(recipe.training.learning_rate, 1.0);
  EXPECT_EQ(recipe.model.attention.score, "dot");
  EXPECT_EQ(recipe.model.hidden, 64);
  EXPECT_EQ(recipe.data.generator, "reverse");
}

TEST(Recipe, WhatIsPrintedIsReadBackTheSame) {
  const TemporaryFolder folder;
  Recipe recipe = read_recipe(folder.file("r.toml", kSmallest));
  recipe.folder = R"(a "quoted" \ folder)";
  recipe.training.learning_rate = 1.0 / 3.0;
  recipe.data.train = {};
  for (const bool with_help : {false, true}) {
    const std::string text = recipe_text(recipe, with_help);
    EXPECT_EQ(recipe_text(read_recipe(folder.file("again.toml", text)), with_help), text);
  }
}

TEST(Recipe, EveryKeyHasHelp) {
  Recipe recipe;
  const Fields fields = fields_of(recipe);
  for (const Field& field : fields.list()) EXPECT_FALSE(field.help().empty()) << field.key();
}

TEST(Recipe, MistakesAreNamedWithTheirPlace) {
  const TemporaryFolder folder;
  const auto expect = [&](const std::string& more, const std::vector<const char*>& parts) {
    const std::string path = folder.file("r.toml", std::string(kSmallest) + more);
    for (const char* part : parts) EXPECT_ERROR(read_recipe(path), part);
    EXPECT_ERROR(read_recipe(path), "r.toml");
  };
  expect("[model]\nhiden = 5\n", {"r.toml:7", "model.hiden", "model.hidden"});
  expect("[model]\nhidden = \"big\"\n", {"r.toml:7", "model.hidden: expected an integer", "\"big\""});
  expect("[model]\nhidden = 0\n", {"at least 1"});
  expect("[model]\ndropout = 1.0\n", {"below 1"});
  expect("[model]\narchitecture = \"bahdanaw\"\n",
         {"rnn-seq2seq, bahdanau, luong, transformer", "did you mean bahdanau"});
  expect("[model.attention]\nscore = \"dott\"\n", {"did you mean dot"});
  expect("[model]\nhidden = 2020-01-01\n", {"got a date or a time"});
  expect("[data]\n", {"not valid TOML"});
  expect("x = \n", {"r.toml:6", "not valid TOML"});
  expect("schedule = \"cosine\"\nsteps = 0\n[batch]\ntokens = 0\n", {"batch.tokens or batch.sentences"});
  EXPECT_ERROR(read_recipe(folder.file("none.toml")), "cannot open");
  EXPECT_ERROR(read_recipe(folder.file("r.toml", "folder = \"x\"\n")),
               "expected data.train (files) or data.generator, got neither");
  EXPECT_ERROR(read_recipe(folder.file("r.toml", "[data]\ngenerator = \"dates\"\n")), "expected a stopping criterion");
  const std::string good = folder.file("good.toml", kSmallest);
  const auto set = [&](const std::string& change) { return read_recipe(good, std::vector<std::string>{change}); };
  EXPECT_ERROR(set("model.hidden"), "expected KEY=VALUE");
  EXPECT_ERROR(set("model.hidden=x"), "--set model.hidden=x: ");
  EXPECT_ERROR(set("modell.hidden=3"), "model.hidden");
  EXPECT_ERROR(set("training.lr=3"), "did you mean training.learning_rate?");
  EXPECT_ERROR(set("lr=3"), "did you mean training.learning_rate?");
  EXPECT_ERROR(set("training.batch_size=3"), "did you mean batch.sentences?");
  EXPECT_ERROR(set("training.optimizer=adam"), "did you mean training.optimiser?");
  EXPECT_ERROR(set("heads=3"), "did you mean model.attention.heads?");
  EXPECT_ERROR(set("validation.search.temperature=2"), "validation.search.temperature");
  EXPECT_ERROR(set("data.train=a,b,c"), "expected a target file after c; of several corpora");
}

}  // namespace
}  // namespace fovea
