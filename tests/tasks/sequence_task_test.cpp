#include <gtest/gtest.h>

#include "decode/shortlist.h"
#include "decode/translator.h"
#include "recipe/recipe.h"
#include "store/model_folder.h"
#include "support.h"
#include "tasks/sequence_alignments.h"
#include "tasks/sequence_data.h"
#include "tasks/sequence_loss.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

// A model with learned positions takes inputs of limited length. Training text is filtered; validation text is not.
TEST(SequenceTask, ValidationLinesLongerThanTheModelAllowsDoNotEndARun) {
  const TemporaryFolder folder;
  std::string train_lines, valid_lines, long_line;
  for (int i = 0; i < 60; ++i) {
    long_line += "a ";
    train_lines += "a b c\ta b c\n";
  }
  valid_lines = "a b\ta b\n" + long_line + "\ta b\n" + "b\t" + long_line + "\n";
  Recipe r = small_recipe(folder.file("run"));
  r.data.generator = "";
  r.data.train = {folder.file("train.tsv", train_lines)};
  r.data.valid = {folder.file("valid.tsv", valid_lines)};
  r.model.architecture = "transformer";
  r.model.attention.score = "scaled-dot";
  r.model.positions = "learned";
  r.model.longest = 20;
  r.training.steps = 2;
  r.validation.metric = "exact";
  r.validation.sentences = 0;
  Silent listener;
  EXPECT_EQ(train(r, Start::kNew, &listener).why, "reached 2 steps");
  EXPECT_NE(listener.messages.find("valid: kept 1 of 3 pairs"), std::string::npos) << listener.messages;
  EXPECT_TRUE(listener.validation.score.has_value());
}

// The position in the data and the baseline of REINFORCE are restored, so that the same batches follow.
TEST(SequenceTask, AStateIsRestored) {
  Recipe r = small_recipe("");
  r.data.filter.sampling = 0.2;
  r.source_vocabulary = r.target_vocabulary = {.kind = "bpe", .size = 60};
  Parameters parameters(Device::cpu());
  const auto task = task_named("sequence").make({r, parameters, Device::cpu(), ""});
  const auto sizes_of_batches = [&](int64_t count) {
    std::vector<Part> parts;
    for (int64_t i = 0; i < count; ++i) {
      task->next_batch();
      EXPECT_EQ(task->split(0), 1);
      parts.push_back(task->load_part(0));
    }
    return parts;
  };
  const int64_t batches = task->progress().batches;
  sizes_of_batches(batches - 1);
  auto state = task->state();
  state["baseline"] = 2.5;
  const auto expected = sizes_of_batches(3);  // of two epochs, which are tokenised differently
  EXPECT_EQ(task->progress().epoch, 1);
  task->set_state(state);
  EXPECT_EQ(task->progress().epoch, 0);
  EXPECT_EQ(task->state(), state);
  const auto got = sizes_of_batches(3);
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].sizes, expected[i].sizes) << i;
    EXPECT_EQ(got[i].units, expected[i].units) << i;
  }
}

// Two sentences of two steps and one, over three states and two; the padding has weights, too, which do not count.
// With subword sampling the training text is tokenised once more; without it, its tokens are in memory.
void expect_stored_shortlist(double sampling) {
  const TemporaryFolder folder;
  Recipe r = small_recipe(folder.file("run"));
  r.training.steps = 2;
  r.training.shortlist = true;
  r.data.filter.sampling = sampling;
  if (sampling > 0) r.source_vocabulary = r.target_vocabulary = {.kind = "bpe", .size = 60};
  train(r, Start::kNew);
  const auto translator = [&](const std::string& shortlist) {
    return Translator({folder.file("run")}, {.device = "cpu", .shortlist = shortlist});
  };
  const Translator by_default = translator("auto");
  ASSERT_NE(by_default.shortlist(), nullptr);
  EXPECT_EQ(by_default.shortlist()->target_words(), by_default.model().target->size());
  EXPECT_GT(by_default.shortlist()->entries(), 0);
  EXPECT_EQ(translator("off").shortlist(), nullptr);
}

TEST(SequenceTask, StoresTheShortlistThatTheRecipeAsksFor) {
  expect_stored_shortlist(0);
  expect_stored_shortlist(0.2);
  const TemporaryFolder folder;
  Recipe r = small_recipe(folder.file("copies"));
  r.training.shortlist = true;
  r.model.copy = "mixture";
  EXPECT_ERROR(train(r, Start::kNew), "training.shortlist: expected a model that does not copy");
}

TEST(SequenceLoss, DoublyStochasticPenaltyIsThatOfTheEquation) {
  TrainingConfig config;
  config.doubly_stochastic = 2;
  ParallelCorpus corpus;
  corpus.source.append(std::vector<int32_t>{4, 5, 6});
  corpus.source.append(std::vector<int32_t>{4, 5});
  corpus.target.append(std::vector<int32_t>{4});
  corpus.target.append(std::vector<int32_t>{});
  const std::vector<int64_t> rows = {0, 1};
  const Batch batch = make_batch(corpus, rows, {.end_source = false}, Device::cpu());
  const auto loss = [&](double weight) {
    config.doubly_stochastic = weight;
    TeacherForced forced;
    forced.logits = Var(zeros({2, 2, 8}, DType::kF32, Device::cpu()));
    const std::vector<float> weights = {.5f, .25f, .25f, .5f, .5f, 0, .75f, .25f, 0, .5f, .5f, 0};  // [B,H,T,S]
    forced.attentions.push_back(
        {AttentionKind::kCross, 0, Var(from_host(weights, {2, 1, 2, 3}, Device::cpu())), {}, {}});
    return to_host<float>(SequenceLoss(config, {})(forced, batch, {}).total.value())[0];
  };
  // The states received 1, 0.75 and 0.25; and 0.75 and 0.25. There are three target tokens, end marks among them.
  const double penalty = .25 * .25 + .75 * .75 + .25 * .25 + .75 * .75;
  EXPECT_NEAR(loss(2) - loss(0), 2 * penalty / 3, 1e-6);
}

TEST(SequenceData, HidesCopiedWordsAtTheRateOfTheRecipe) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "a b c d\ta b c d\n";
  Recipe r = small_recipe(folder.file("run"));
  r.data.generator = "";
  r.data.train = {folder.file("train.tsv", lines)};
  r.source_vocabulary.kind = r.target_vocabulary.kind = "word";
  r.model.copy = "mixture";
  for (const double rate : {0.0, 0.5, 1.0}) {
    r.data.hide_copied = rate;
    Parameters parameters(Device::cpu());
    SequenceData data({.recipe = r, .parameters = parameters, .device = Device::cpu(), .resume_folder = ""});
    data.next();
    data.split(0);
    const Batch batch = data.part(0, Device::cpu());
    int64_t hidden = 0, shown = 0;
    for (const int32_t id : to_host<int32_t>(batch.copied)) {
      if (id > kEnd) ++(id >= batch.vocabulary ? hidden : shown);
    }
    EXPECT_EQ(hidden > 0, rate > 0) << rate;
    EXPECT_EQ(shown > 0, rate < 1) << rate;
  }
}

// Alignments of Chinese text number its characters, as fovea align writes them; of segmented text, its words.
TEST(SequenceAlignments, NumberCharactersWhereNoSpacesSeparateWords) {
  const TemporaryFolder folder;
  const ParallelLines lines{{"我是人", "我 是人"}, {"I am a man", "I am a man"}};
  const auto source = train_vocabulary(lines.source, {.kind = "character"}).vocabulary;
  const auto target = train_vocabulary(lines.target, {.kind = "word"}).vocabulary;
  const ParallelCorpus corpus = build_corpus(lines, *source, *target, {}).corpus;
  const Alignments links(folder.file("links", "0-0 1-1 2-3\n0-0 1-3\n"), lines, corpus, *source, *target);
  const auto weights = [&](int64_t row) {
    return to_host<float>(links.weights({row}, 4, 4, false, 0, corpus, Device::cpu()));
  };
  EXPECT_EQ(weights(0), (std::vector<float>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
  // A token of a space goes with the word before it.
  EXPECT_EQ(weights(1), (std::vector<float>{.5f, .5f, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, .5f, .5f}));
  const Tensor later = links.weights({0}, 5, 4, false, 1, corpus, Device::cpu());
  EXPECT_EQ(to_host<float>(later), (std::vector<float>{0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0}));
}

}  // namespace
}  // namespace fovea
