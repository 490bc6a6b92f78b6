// The task "classify" from file to prediction: every pooling learns a toy set, runs resume bit-identically, and a
// classifier takes any text.
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "base/random.h"
#include "store/classifier_folder.h"
#include "support.h"
#include "tasks/classifier.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

using Lines = std::vector<std::string>;

const Lines kLabels = {"animal", "colour", "fruit"};
const std::vector<Lines> kWords = {{"cat", "dog", "horse"}, {"red", "green", "blue"}, {"apple", "pear", "plum"}};

// Lines of noise with one word that decides.
std::string toy_text(int64_t count, uint64_t seed) {
  std::string text;
  Random random(seed);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t label = random.below(3);
    std::string line;
    const uint64_t before = random.below(5), after = random.below(4);
    for (uint64_t n = 0; n < before; ++n) line += random.below(2) == 0 ? "the " : "of ";
    line += kWords[label][random.below(3)];
    for (uint64_t n = 0; n < after; ++n) line += random.below(2) == 0 ? " a" : " is";
    text += kLabels[label] + "\t" + line + "\n";
  }
  return text;
}

Recipe toy_recipe(const TemporaryFolder& folder) {
  Recipe recipe{.folder = folder.file("run"), .task = "classify"};
  recipe.data.train = {folder.file("train.tsv", toy_text(600, 1))};
  recipe.data.valid = {folder.file("valid.tsv", toy_text(300, 2))};
  recipe.source_vocabulary.kind = "word";
  recipe.model.embedding = 16;
  recipe.model.hidden = 12;
  recipe.model.feed_forward = 32;
  recipe.model.self_attention.heads = 2;
  recipe.model.dropout = 0.1;
  recipe.classify.hops = 2;
  recipe.batch.tokens = 0;
  recipe.batch.sentences = 16;
  recipe.training.learning_rate = 0.01;
  recipe.training.steps = 200;
  recipe.validation.metric = "accuracy";
  recipe.validation.every = 20;
  recipe.validation.goal = 100;
  return recipe;
}

TEST(Classify, EveryPoolingAndEncoderLearns) {
  for (const std::string encoder : {"recurrent", "transformer"}) {
    for (const Lines& pooling :
         {Lines{"attention"}, Lines{"structured"}, Lines{"mean"}, Lines{"max"}, Lines{"attention", "max"}}) {
      const TemporaryFolder folder;
      Recipe recipe = toy_recipe(folder);
      recipe.model.encoder = encoder;
      recipe.classify.pooling = pooling;
      Silent listener;
      EXPECT_EQ(train(recipe, Start::kNew, &listener).why, "accuracy reached 100") << encoder << " " << pooling[0];
      EXPECT_EQ(listener.validation.scores[1].first, "macro-f1");
      EXPECT_EQ(task_of_model(recipe.folder), "classify");
      const Lines texts = {"the horse a", "of the blue is", "plum"};
      EXPECT_EQ(load_predictor(recipe.folder)->predict(texts), kLabels);
    }
  }
}

TEST(Classify, WordDropoutSamplingWeightsAndSmoothingLearnToo) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder);
  recipe.source_vocabulary.kind = "unigram";
  recipe.source_vocabulary.size = 60;
  recipe.data.filter.sampling = 0.2;
  recipe.classify.word_dropout = 0.1;
  recipe.classify.class_weights = "balanced";
  recipe.classify.head_hidden = 10;
  recipe.training.label_smoothing = 0.1;
  recipe.training.steps = 400;
  recipe.validation.goal = 95;
  EXPECT_EQ(train(recipe, Start::kNew).why.substr(0, 16), "accuracy reached");
}

std::string weights_of(const std::string& folder) { return read_file(folder + "/model.safetensors"); }

TEST(Classify, AResumedRunIsBitIdentical) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder);
  recipe.classify.pooling = {"structured"};
  recipe.classify.word_dropout = 0.2;
  recipe.training.ema = 0.9;
  recipe.training.steps = 12;
  recipe.validation.every = 4;
  recipe.validation.goal = 0;
  recipe.device = "cpu";
  train(recipe, Start::kNew);
  Recipe stopped = recipe;
  stopped.folder = folder.file("stopped");
  Silent first;
  first.stop_after = 7;
  EXPECT_TRUE(train(stopped, Start::kNew, &first).interrupted);
  train(stopped, Start::kResume);
  EXPECT_EQ(weights_of(recipe.folder), weights_of(stopped.folder));
  // The classes of a run must stay.
  write_file_atomically(recipe.data.train[0], toy_text(600, 1) + "metal\tiron\n");
  stopped.training.steps = 20;
  EXPECT_ERROR(train(stopped, Start::kResume), "expected training data with the classes animal, colour, fruit, got");
}

class Trained : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new TemporaryFolder;
    Recipe recipe = toy_recipe(*folder);
    recipe.classify.pooling = {"structured", "max"};
    recipe.data.filter.max_source = 50;
    train(recipe, Start::kNew);
    run = recipe.folder;
  }
  static void TearDownTestSuite() { delete folder; }
  static inline TemporaryFolder* folder = nullptr;
  static inline std::string run;
};

TEST_F(Trained, TextsAreClassifiedTogetherAsOneByOne) {
  const Classifier classifier(run, {.device = "cpu", .precision = "f32"});
  Lines texts = {"", "the", "unknown words only", "a a a a dog is"};
  for (int i = 0; i < 100; ++i)
    texts.push_back("of " + kWords[static_cast<size_t>(i % 3)][0] + std::string(static_cast<size_t>(i % 7), ' ') +
                    "is");
  int64_t last = 0;
  const auto together = classifier.classify(texts, {}, [&](int64_t done) { last = std::max(last, done); });
  ASSERT_EQ(together.size(), texts.size());
  EXPECT_EQ(last, std::ssize(texts));
  for (size_t i = 0; i < texts.size(); ++i) {
    const Classification alone = classifier.classify(std::span(texts).subspan(i, 1))[0];
    ASSERT_EQ(alone.classes.size(), 3u);
    double sum = 0;
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(alone.classes[c].label, together[i].classes[c].label) << texts[i];
      EXPECT_NEAR(alone.classes[c].probability, together[i].classes[c].probability, 1e-5) << texts[i];
      sum += alone.classes[c].probability;
      if (c > 0) {
        EXPECT_LE(alone.classes[c].probability, alone.classes[c - 1].probability);
      }
    }
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_TRUE(classifier.classify({}).empty());
}

TEST_F(Trained, EmptyAndEndlessTextsHaveAClass) {
  const Classifier classifier(run, {.device = "cpu"});
  std::string words, one(100'000, 'x');
  while (words.size() < 100'000) words += "dog ";
  const Lines texts = {"", words, one, " \t ", "\xff\xfe"};
  const auto results = classifier.classify(texts);
  EXPECT_EQ(results[0].tokens, 0);
  EXPECT_FALSE(results[0].truncated);
  EXPECT_TRUE(results[1].truncated);
  EXPECT_EQ(results[1].tokens, 25'000);
  EXPECT_EQ(results[1].classes[0].label, "animal");
  EXPECT_FALSE(results[2].truncated);
  for (const Classification& result : results) EXPECT_EQ(result.classes.size(), 3u);
}

TEST_F(Trained, RecordsShowTheWordsThatDecided) {
  const Classifier classifier(run, {.device = "cpu"});
  const Lines texts = {"the of horse a", ""};
  const auto results = classifier.classify(texts, {.capture_weights = true});
  const AttentionRecord& record = *results[0].record;
  EXPECT_EQ(record.task, "classify");
  EXPECT_EQ(record.source_text, texts[0]);
  ASSERT_EQ(record.source.size(), 5u);
  EXPECT_TRUE(record.source[4].mark);
  ASSERT_EQ(record.attentions.size(), 1u);
  const RecordedAttention& pooling = record.attentions[0];
  EXPECT_EQ(pooling.kind, "pooling");
  EXPECT_EQ(pooling.row_labels, (Lines{"hop 1", "hop 2", "max: share of features"}));
  EXPECT_EQ(pooling.columns, 5);
  for (int64_t row = 0; row < 3; ++row) {
    float sum = 0;
    for (int64_t s = 0; s < 5; ++s) sum += pooling.row(0, 0, row)[s];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  ASSERT_EQ(record.classes.size(), 3u);
  EXPECT_EQ(record.classes[0].label, "animal");
  EXPECT_NEAR(record.log_probability, std::log(record.classes[0].probability), 1e-6);
  EXPECT_EQ(results[1].record->source.size(), 1u);  // the end mark
}

TEST_F(Trained, APackedModelClassifiesAlike) {
  const std::string packed = folder->file("packed");
  save_packed(packed, load_classifier(run, Device::cpu()));
  EXPECT_LT(weights_of(packed).size(), weights_of(run).size());
  const Classifier before(run, {.device = "cpu"}), after(packed, {.device = "cpu"});
  Lines texts;
  for (const Lines& words : kWords) texts.insert(texts.end(), words.begin(), words.end());
  EXPECT_EQ(before.predict(texts), after.predict(texts));
  EXPECT_EQ(after.labels(), kLabels);
}

TEST_F(Trained, AnotherTaskIsRefused) {
  EXPECT_ERROR(load_model(run, Device::cpu()), "got one of the task classify");
  const TemporaryFolder other;
  Recipe recipe = small_recipe(other.file("run"));
  recipe.training.steps = 1;
  train(recipe, Start::kNew);
  EXPECT_ERROR(Classifier(recipe.folder, {}), "expected a model of the task classify, got one of the task sequence");
}

TEST(Classify, LabelsThatTrainingDoesNotHaveCountAsWrong) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder);
  recipe.training.steps = 40;
  recipe.data.valid = {folder.file("v.tsv", toy_text(30, 5) + "metal\tiron\nmetal\tgold\n")};
  Silent listener;
  train(recipe, Start::kNew, &listener);
  EXPECT_NE(listener.messages.find("v.tsv:31: the label metal is not in the training data; 2 texts with such labels "
                                   "count as wrong"),
            std::string::npos)
      << listener.messages;
  EXPECT_LE(*listener.validation.score, 100.0 * 30 / 32);
}

TEST(Classify, TextsAreHeldOutOrRefused) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder);
  recipe.training.steps = 1;
  recipe.data.valid = {};
  recipe.data.filter.drop_duplicates = true;
  recipe.data.train = {folder.file("a.tsv", toy_text(60, 5) + "fruit\t\nfruit\t\n"),
                       folder.file("b.tsv", toy_text(60, 5))};
  Silent listener;
  train(recipe, Start::kNew, &listener);
  EXPECT_NE(listener.messages.find("12 texts of data.train held out"), std::string::npos) << listener.messages;
  EXPECT_NE(listener.messages.find(" empty"), std::string::npos) << listener.messages;
  EXPECT_NE(listener.messages.find("repeated"), std::string::npos) << listener.messages;
  recipe.data.train = {folder.file("one.tsv", "a\tx\n")};
  EXPECT_ERROR(train(recipe, Start::kOverwrite), "expected at least two classes, got only a");
  recipe.data.train = {folder.file("few.tsv", "a\tx\nb\ty\n")};
  EXPECT_ERROR(train(recipe, Start::kOverwrite), "expected at least 10 texts");
  recipe.data.train = {folder.file("absent.tsv")};
  EXPECT_ERROR(train(recipe, Start::kOverwrite), "absent.tsv: no such file");
}

TEST(Classify, EmbeddingsStartFromAFileAndMayBeFrozen) {
  const TemporaryFolder folder;
  Recipe recipe = toy_recipe(folder);
  recipe.model.embedding = 3;
  recipe.training.steps = 5;
  recipe.training.optimiser = "adamw";
  recipe.training.weight_decay = 0.5;
  recipe.training.freeze_embeddings = true;
  recipe.validation.goal = 0;
  recipe.data.embeddings = folder.file("v.txt", "2 3\ndog 1 2 3\nelephant 9 9 9\n");
  Silent listener;
  train(recipe, Start::kNew, &listener);
  EXPECT_NE(listener.messages.find("v.txt: 1 of 13 tokens have pretrained vectors"), std::string::npos)
      << listener.messages;
  const LoadedClassifier loaded = load_classifier(recipe.folder, Device::cpu());
  const Tensor row = loaded.model->encoder().embeddings()->value()[loaded.source->encode("dog")[0]];
  EXPECT_EQ(to_host<float>(row), (std::vector<float>{1, 2, 3}));
  recipe.training.freeze_embeddings = false;
  train(recipe, Start::kOverwrite);
  const LoadedClassifier trained = load_classifier(recipe.folder, Device::cpu());
  EXPECT_NE(to_host<float>(trained.model->encoder().embeddings()->value()[loaded.source->encode("dog")[0]]),
            (std::vector<float>{1, 2, 3}));
  recipe.model.embedding = 4;
  EXPECT_ERROR(train(recipe, Start::kOverwrite), "v.txt:1: expected vectors of 4 numbers (model.embedding), got 3");
}

TEST(Classify, SettingsThatConcernDecodingHaveNoEffect) {
  const TemporaryFolder folder;
  const std::string head = "task = \"classify\"\nfolder = \"x\"\n[data]\ntrain = \"t.tsv\"\n[training]\nepochs = 1\n";
  const auto warnings_of = [&](const std::string& more) {
    std::vector<std::string> warnings;
    read_recipe(folder.file("r.toml", head + more), {}, &warnings);
    std::string all;
    for (const std::string& warning : warnings) all += warning + "\n";
    return all;
  };
  EXPECT_EQ(warnings_of("[model]\ncell = \"lstm\"\nhidden = 7\n"), "");
  EXPECT_NE(warnings_of("[model]\ndecoder_layers = 2\n").find("model.decoder_layers has no effect"), std::string::npos);
  EXPECT_NE(warnings_of("[model]\nencoder = \"transformer\"\nhidden = 7\n")
                .find("model.hidden has no effect: it needs model.encoder = recurrent"),
            std::string::npos);
  EXPECT_NE(warnings_of("[model]\nfeed_forward = 7\n").find("model.feed_forward has no effect"), std::string::npos);
  EXPECT_NE(warnings_of("[classify]\nhops = 7\n").find("classify.pooling = structured"), std::string::npos);
  EXPECT_EQ(warnings_of("[classify]\nhops = 7\npooling = [\"structured\", \"max\"]\n"), "");
  EXPECT_ERROR(warnings_of("[classify]\npooling = [\"atention\"]\n"), "did you mean attention");
  EXPECT_ERROR(warnings_of("[validation]\nmetric = \"bleu\"\n"), "expected one of loss, accuracy, macro-f1");
  std::vector<std::string> warnings;
  read_recipe(
      folder.file("s.toml",
                  "folder = \"x\"\n[data]\ngenerator = \"dates\"\n[training]\nepochs = 1\n[classify]\nhops = 3\n"),
      {}, &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("classify.hops has no effect"), std::string::npos);
}

}  // namespace
}  // namespace fovea
