// What a recipe takes over from the model that it starts from.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "recipe/recipe.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

constexpr const char* kModel = R"({"format": 1, "source_words": 30, "target_words": 30, "reverse_source": true,
  "split_identifiers": true, "best_head": 2, "model": {"architecture": "luong", "embedding": 48, "hidden": 40,
  "dropout": 0.25, "attention": {"score": "general", "heads": 2}}})";
constexpr const char* kRecipe =
    "folder = \"x\"\n[data]\ngenerator = \"reverse\"\n[training]\npretrained = \"small\"\nepochs = 1\n";

class Pretrained : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_.file("small"));
    folder_.file("small/config.json", kModel);
    folder_.file("small/model.safetensors", "");
    setenv("FOVEA_MODELS", folder_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("FOVEA_MODELS"); }
  Recipe read(const std::string& text, const std::vector<std::string>& changes = {}) {
    warnings_.clear();
    return read_recipe(folder_.file("r.toml", text), changes, &warnings_);
  }

  TemporaryFolder folder_;
  std::vector<std::string> warnings_;
};

TEST_F(Pretrained, ANameGivesTheArchitectureTheSizesAndTheConventions) {
  const Recipe r = read(kRecipe);
  EXPECT_EQ(r.model.architecture, "luong");
  EXPECT_EQ(r.model.embedding, 48);
  EXPECT_EQ(r.model.hidden, 40);
  EXPECT_EQ(r.model.attention.score, "general");
  EXPECT_EQ(r.model.attention.heads, 2);
  EXPECT_EQ(r.model.dropout, 0.25);
  EXPECT_TRUE(r.batch.reverse_source);
  EXPECT_TRUE(r.data.split_identifiers);
  EXPECT_EQ(r.training.pretrained, "small");
  EXPECT_EQ(warnings_, std::vector<std::string>());
}

TEST_F(Pretrained, WhatTheRecipeNamesStaysAndADifferenceIsTold) {
  const Recipe r = read(std::string(kRecipe) + "[model]\nembedding = 16\nhidden = 40\ndropout = 0.0\n",
                        {"model.attention.score=dot"});
  EXPECT_EQ(r.model.embedding, 16);
  EXPECT_EQ(r.model.dropout, 0);
  EXPECT_EQ(r.model.attention.score, "dot");
  EXPECT_EQ(r.model.attention.heads, 2);
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_EQ(warnings_[0],
            "training.pretrained = small: model.embedding is 16 and was 48 in it; parameters that differ start anew");
  EXPECT_NE(warnings_[1].find("model.attention.score is \"dot\" and was \"general\""), std::string::npos);
}

TEST_F(Pretrained, AnotherTaskTakesTheEncoder) {
  const std::string text =
      "task = \"classify\"\nfolder = \"x\"\n[data]\ntrain = \"t\"\n[training]\npretrained = \"small\"\nepochs = 1\n";
  Recipe r = read(text);
  EXPECT_EQ(r.model.encoder, "recurrent");
  EXPECT_EQ(r.model.embedding, 48);
  EXPECT_FALSE(r.batch.reverse_source);
  EXPECT_EQ(warnings_, std::vector<std::string>());
  folder_.file("small/config.json", R"({"model": {"architecture": "transformer", "feed_forward": 80}})");
  r = read(text);
  EXPECT_EQ(r.model.encoder, "transformer");
  EXPECT_EQ(r.model.feed_forward, 80);
  EXPECT_EQ(warnings_, std::vector<std::string>());
}

// The recipe.toml of a run has everything, so that the model it started from may be gone.
TEST_F(Pretrained, ACompleteRecipeNeedsNoModel) {
  Recipe r = read(kRecipe);
  r.training.pretrained = "gone";
  EXPECT_EQ(read(recipe_text(r, false)).model.embedding, 48);
}

TEST_F(Pretrained, WrongModelsAreErrors) {
  EXPECT_ERROR(read(kRecipe, {"training.pretrained=smal"}), "smal: there is no such model folder; did you mean small?");
  EXPECT_ERROR(read(kRecipe, {"training.pretrained=no/where"}),
               "no/where: expected a model folder, got no such folder");
  folder_.file("small/config.json", R"({"model": {"embedding": "wide"}})");
  EXPECT_ERROR(read(kRecipe), "small/config.json: model.embedding: expected an integer");
  folder_.file("small/config.json", R"({"model": {"breadth": 3}})");
  EXPECT_ERROR(read(kRecipe), "small/config.json: model.breadth: there is no such setting");
  folder_.file("small/config.json", "[]");
  EXPECT_ERROR(read(kRecipe), "expected a JSON object");
}

TEST_F(Pretrained, AVocabularyOfOnesOwnContradictsIt) {
  EXPECT_ERROR(read(kRecipe, {"target_vocabulary.model=my.spm"}),
               "target_vocabulary.model: expected none with training.pretrained");
}

TEST(Corpora, AreFilesWithBothSidesOrPairsOfFiles) {
  using Corpora = std::vector<std::vector<std::string>>;
  EXPECT_EQ(corpora_of({"a"}, "k"), (Corpora{{"a"}}));
  EXPECT_EQ(corpora_of({"a", "b"}, "k"), (Corpora{{"a", "b"}}));
  EXPECT_EQ(corpora_of({"a.tsv", "b.tsv.gz"}, "k"), (Corpora{{"a.tsv"}, {"b.tsv.gz"}}));
  EXPECT_EQ(corpora_of({"a.en", "a.de", "b.tsv", "c.en", "c.de"}, "k"),
            (Corpora{{"a.en", "a.de"}, {"b.tsv"}, {"c.en", "c.de"}}));
  EXPECT_ERROR(corpora_of({"a.en", "b.tsv"}, "data.train"), "data.train: expected a target file after a.en");
  EXPECT_ERROR(corpora_of({"a.en", "a.de", "b.en"}, "data.train"), "expected a target file after b.en");
}

TEST(Corpora, WeightsAreNumbersAboveZeroAndOneForEach) {
  const TemporaryFolder folder;
  const std::string head = "folder = \"x\"\n[data]\ntrain = [\"a.tsv\", \"b.tsv\"]\n",
                    tail = "[training]\nepochs = 1\n";
  const auto read = [&](const std::string& weights) {
    return read_recipe(folder.file("r.toml", head + "weights = " + weights + "\n" + tail)).data.corpus_weights();
  };
  EXPECT_EQ(read("[2, 0.5]"), (std::vector<double>{2, 0.5}));
  EXPECT_EQ(read("[\"2\", \"0.5\"]"), (std::vector<double>{2, 0.5}));
  EXPECT_ERROR(read("[1]"), "data.weights: expected a number for each of the 2 corpora of data.train, got 1");
  EXPECT_ERROR(read("[1, 0]"), "data.weights: expected numbers above 0, got 0");
  EXPECT_ERROR(read("[1, -2]"), "got -2");
  EXPECT_ERROR(read("[1, \"x\"]"), "got x");
  EXPECT_ERROR(read("[1, \"inf\"]"), "got inf");
  EXPECT_ERROR(read("[1, nan]"), "got nan");
}

}  // namespace
}  // namespace fovea
