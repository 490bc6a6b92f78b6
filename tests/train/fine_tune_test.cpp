// Runs that start from a trained model, with its vocabularies or with extended ones.
#include <gtest/gtest.h>

#include <numeric>

#include "base/files.h"
#include "decode/translator.h"
#include "store/model_folder.h"
#include "support.h"
#include "temporary_folder.h"
#include "text/extend_vocabulary.h"
#include "text/generators.h"
#include "train/small_run.h"

namespace fovea {
namespace {

Recipe goes_on(const Recipe& first, const std::string& folder) {
  Recipe r = first;
  r.folder = folder;
  r.seed = 2;
  r.training.pretrained = first.folder;
  return r;
}

double loss_after(Recipe recipe, int64_t steps) {
  recipe.training.steps = steps;
  recipe.validation.every = steps;
  recipe.validation.metric = "loss";
  Silent told;
  train(recipe, Start::kNew, &told);
  return told.validation.loss;
}

TEST(FineTuning, AModelOfOneTaskLearnsAnotherFaster) {
  const TemporaryFolder folder;
  Recipe first = small_recipe(folder.file("reverse"));
  first.model.dropout = 0;
  first.training.label_smoothing = 0;
  first.training.learning_rate = 5e-3;
  first.data.generated = 2000;
  loss_after(first, 150);
  Recipe sort = goes_on(first, folder.file("tuned"));
  sort.data.generator = "sort";
  Recipe scratch = sort;
  scratch.folder = folder.file("scratch");
  scratch.training.pretrained = "";
  const double tuned = loss_after(sort, 40), untuned = loss_after(scratch, 40);
  EXPECT_LT(tuned, untuned - 0.2);
}

// Words that the model knows, and words that it does not.
std::string new_pairs(const Recipe& recipe) {
  std::string text;
  const ParallelLines known = generate(recipe.data.generator, 30, 9);
  for (size_t i = 0; i < known.source.size(); ++i) {
    text += known.source[i] + " umlaut\t" + "umlaut " + known.target[i] + "\n";
  }
  return text;
}

// A run whose learning rate is 0: its model is the one that training starts with.
Recipe start_of_extended(const Recipe& first, const TemporaryFolder& folder) {
  Recipe r = goes_on(first, folder.file("extended"));
  r.data.train = {folder.file("new.tsv", new_pairs(first))};
  r.data.valid = r.data.train;
  r.data.generator = "";
  r.training.extend_vocabulary = 20;
  r.training.learning_rate = 0;
  r.training.steps = 1;
  return r;
}

std::vector<float> row(const LoadedModel& model, const char* parameter, int64_t index) {
  return to_host<float>(model.parameters->find(parameter).value()[index]);
}

class Extended : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(FineTuning, Extended, testing::Values("word", "bpe", "shared"));

TEST_P(Extended, OldPiecesKeepTheirOutputsAndNewOnesStartAsMeans) {
  const TemporaryFolder folder;
  Recipe first = small_recipe(folder.file("first"));
  const bool words = std::string(GetParam()) == "word";
  if (!words) first.source_vocabulary = first.target_vocabulary = {.kind = "bpe", .size = 40};
  first.data.shared_vocabulary = std::string(GetParam()) == "shared";
  first.training.steps = 30;
  train(first, Start::kNew);
  const Recipe second = start_of_extended(first, folder);
  Silent told;
  train(second, Start::kNew, &told);
  EXPECT_NE(told.messages.find("tokens of the pretrained model and "), std::string::npos) << told.messages;

  const LoadedModel before = load_model(first.folder, Device::cpu()), after = load_model(second.folder, Device::cpu());
  const int64_t old = before.target->size();
  ASSERT_GT(after.target->size(), old);
  for (const char* name : {"encoder.words.table", "decoder.words.table", "decoder.out.weight", "decoder.out.bias"}) {
    for (int64_t id = 0; id < old; ++id) ASSERT_EQ(row(before, name, id), row(after, name, id)) << name << id;
  }
  ParallelLines lines = read_tsv(second.data.train.front());
  if (first.data.shared_vocabulary) {
    lines.target.insert(lines.target.begin(), lines.source.begin(), lines.source.end());
  }
  const VocabularyExtension extension = extend_vocabulary(*before.target, lines.target, 20);
  ASSERT_EQ(after.target->size(), old + std::ssize(extension.parts));
  std::vector<int32_t> all(static_cast<size_t>(old));
  std::iota(all.begin(), all.end(), 0);
  for (size_t i = 0; i < extension.parts.size(); ++i) {
    const std::vector<int32_t>& parts = extension.parts[i].empty() ? all : extension.parts[i];
    const std::vector<float> got = row(after, "decoder.words.table", old + static_cast<int64_t>(i));
    for (size_t c = 0; c < got.size(); ++c) {
      double sum = 0;
      for (const int32_t id : parts) sum += static_cast<double>(row(before, "decoder.words.table", id)[c]);
      EXPECT_NEAR(got[c], sum / static_cast<double>(parts.size()), 1e-6) << i;
    }
  }
  const ParallelLines known_lines = generate("reverse", 20, 5);
  const Translator one({first.folder}, {}), two({second.folder}, {});
  const auto expected = one.translate(known_lines.source, {}), got = two.translate(known_lines.source, {});
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].text(), expected[i].text());
}

TEST(FineTuning, AnExtendedRunIsResumedWithItsVocabulary) {
  const TemporaryFolder folder;
  const Recipe first = small_recipe(folder.file("first"));
  train(first, Start::kNew);
  Recipe second = start_of_extended(first, folder);
  second.training.learning_rate = 1e-3;
  train(second, Start::kNew);
  const std::string vocabulary = read_file(second.folder + "/source.vocab");
  EXPECT_NE(vocabulary.find("\numlaut\n"), std::string::npos);
  second.training.steps = 3;
  EXPECT_EQ(train(second, Start::kResume).steps, 3);
  EXPECT_EQ(read_file(second.folder + "/source.vocab"), vocabulary);
}

TEST(Vocabularies, AModelOfOnesOwnIsUsedAndSaved) {
  const TemporaryFolder folder;
  Recipe first = small_recipe(folder.file("first"));
  first.source_vocabulary = first.target_vocabulary = {.kind = "bpe", .size = 40};
  first.training.steps = 1;
  train(first, Start::kNew);
  Recipe second = first;
  second.folder = folder.file("second");
  second.data.generator = "sort";
  second.source_vocabulary.model = first.folder + "/target.spm";
  train(second, Start::kNew);
  const auto expected = load_vocabulary(first.folder, "target"), got = load_vocabulary(second.folder, "source");
  ASSERT_EQ(got->size(), expected->size());
  for (int32_t id = 0; id < got->size(); ++id) EXPECT_EQ(got->piece(id), expected->piece(id));
  second.folder = folder.file("third");
  second.source_vocabulary.model = folder.file("text", "no model\n");
  EXPECT_ERROR(train(second, Start::kNew), "text: not a SentencePiece model");
}

TEST(FineTuning, SaysWhatDiffers) {
  const TemporaryFolder folder;
  const Recipe first = small_recipe(folder.file("first"));
  train(first, Start::kNew);
  Recipe second = goes_on(first, folder.file("wide"));
  second.model.embedding = 20;
  Silent told;
  train(second, Start::kNew, &told);
  EXPECT_NE(told.messages.find("; other shapes: encoder.words.table ["), std::string::npos) << told.messages;
  EXPECT_NE(told.messages.find("20], there ["), std::string::npos) << told.messages;
}

}  // namespace
}  // namespace fovea
