#include "train/trainer.h"
#include "store/safetensors.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/files.h"
#include "decode/search.h"
#include "store/model_folder.h"
#include "support.h"
#include "temporary_folder.h"
#include "text/generators.h"
#include "train/small_run.h"

namespace fovea {
namespace {

// The metadata of a checkpoint, without the training time, and the bytes of its tensors.
std::vector<std::string> checkpoint_of(const std::string& folder) {
  const SafetensorsFile file(checkpoint_path(folder));
  std::vector<std::string> parts;
  for (const auto& [key, value] : file.metadata()) {
    if (key != "minutes") parts.push_back(key + "=" + value);
  }
  const std::string bytes = read_file(file.path());
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  parts.push_back(bytes.substr(sizeof header + header));
  return parts;
}

class Resume : public ::testing::TestWithParam<const char*> {};

TEST_P(Resume, IsBitIdentical) {
  const TemporaryFolder whole, halves;
  const auto recipe = [&](const std::string& folder) {
    Recipe r = small_recipe(folder);
    r.training.steps = 24;
    r.training.ema = 0.9;
    r.training.schedule = "plateau";
    r.training.accumulation = 2;
    const std::string what = GetParam();
    if (what == "hard") r.model.attention.selection = "hard";
    if (what == "sampling") {
      r.source_vocabulary = r.target_vocabulary = {.kind = "bpe", .size = 60};
      r.data.filter.sampling = 0.2;
    }
    if (what == "mixture") {
      r.data.generator = "";
      for (const auto& [name, pairs] : {std::pair("long.tsv", 300), {"short.tsv", 40}}) {
        const ParallelLines lines = generate("reverse", pairs, 3);
        std::string text;
        for (size_t i = 0; i < lines.source.size(); ++i) text += lines.source[i] + "\t" + lines.target[i] + "\n";
        r.data.train.push_back(whole.file(name, text));
      }
      r.data.weights = {"1", "1"};
    }
    if (what == "transformer") {
      r.model.architecture = "transformer";
      r.model.attention.score = "scaled-dot";
    }
    return r;
  };
  train(recipe(whole.path()), Start::kNew);
  for (const int64_t stop : {7, 13}) {
    Silent listener;
    listener.stop_after = stop;
    EXPECT_TRUE(train(recipe(halves.path()), Start::kResume, &listener).interrupted);
  }
  Silent listener;
  train(recipe(halves.path()), Start::kResume, &listener);
  EXPECT_NE(listener.messages.find("resuming from step 13"), std::string::npos);
  const auto expected = checkpoint_of(whole.path()), got = checkpoint_of(halves.path());
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i + 1 < got.size(); ++i) EXPECT_EQ(got[i], expected[i]);
  EXPECT_TRUE(got.back() == expected.back()) << "tensors differ";
}
INSTANTIATE_TEST_SUITE_P(Runs, Resume, ::testing::Values("soft", "hard", "sampling", "mixture", "transformer"));

TEST(Trainer, TheFolderHoldsARunAndAModel) {
  const TemporaryFolder folder;
  const Recipe recipe = small_recipe(folder.file("run"));
  const TrainingResult result = train(recipe, Start::kNew);
  EXPECT_EQ(result.steps, 12);
  EXPECT_EQ(result.why, "reached 12 steps");
  for (const char* name : {"config.json", "model.safetensors", "source.vocab", "target.vocab", "recipe.toml",
                           "metrics.jsonl", "checkpoint.safetensors"}) {
    EXPECT_TRUE(std::filesystem::exists(recipe.folder + "/" + name)) << name;
  }
  EXPECT_EQ(load_model(recipe.folder, Device::cpu()).config.model.hidden, 24);
  const std::string metrics = read_file(metrics_path(recipe.folder));
  EXPECT_NE(metrics.find(R"("event":"validation","step":5,)"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find(R"("event":"validation","step":12,)"), std::string::npos) << metrics;
}

TEST(Trainer, ARunIsNeverOverwrittenUnasked) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  train(recipe, Start::kNew);
  EXPECT_ERROR(train(recipe, Start::kNew), "there is a training run already");
  recipe.model.hidden = 32;
  EXPECT_ERROR(train(recipe, Start::kResume), "model.hidden was 24 and is now 32");
  EXPECT_EQ(train(recipe, Start::kOverwrite).steps, 12);
}

using Changes = std::vector<std::string>;

// Changes the working directory as long as it lives.
class InFolder {
 public:
  explicit InFolder(const std::string& folder) : before_(std::filesystem::current_path()) {
    std::filesystem::create_directories(folder);
    std::filesystem::current_path(folder);
  }
  ~InFolder() { std::filesystem::current_path(before_); }
  InFolder(const InFolder&) = delete;
  InFolder& operator=(const InFolder&) = delete;

 private:
  std::filesystem::path before_;
};

TEST(Trainer, ARunIsResumedFromAnywhere) {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "a b c\n";
  folder.file("text", lines);
  for (const std::string& named : {std::string("runs/x"), folder.file("absolute"), std::string("../outside")}) {
    std::filesystem::path run;
    {
      const InFolder home(folder.file("home"));
      std::filesystem::copy_file(folder.file("text"), "text", std::filesystem::copy_options::overwrite_existing);
      Recipe recipe = small_recipe(named);
      recipe.data.generator = "";
      recipe.data.train = {"text", "text"};
      recipe.training.steps = 2;
      train(recipe, Start::kNew);
      run = std::filesystem::canonical(named);
    }
    const InFolder elsewhere(folder.file("elsewhere"));
    for (const std::string& path : {run.string(), std::filesystem::relative(run).string()}) {
      Silent listener;
      const Changes more = {fmt::format("training.steps={}", read_recipe(path + "/recipe.toml").training.steps + 1)};
      train(read_recipe(path + "/recipe.toml", more), Start::kResume, &listener);
      EXPECT_NE(listener.messages.find("resuming"), std::string::npos) << listener.messages;
    }
    EXPECT_TRUE(std::filesystem::is_empty(".")) << named;
    // A recipe of a run may serve another run, too.
    EXPECT_EQ(read_recipe(run.string() + "/recipe.toml", Changes{"folder=other"}).folder, "other");
  }
}

TEST(Trainer, AnInterruptFinishesTheStepAndSaves) {
  const TemporaryFolder folder;
  const Recipe recipe = small_recipe(folder.file("run"));
  Silent listener;
  listener.stop_after = 3;
  const TrainingResult result = train(recipe, Start::kNew, &listener);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.steps, 3);
  EXPECT_TRUE(std::filesystem::exists(checkpoint_path(recipe.folder)));
  EXPECT_EQ(train(recipe, Start::kResume).steps, 12);
}

TEST(Trainer, AFullDiskLeavesTheOldCheckpoint) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  train(recipe, Start::kNew);
  const std::string before = read_file(checkpoint_path(recipe.folder));
  // Writing fails at this file size, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const rlimit small{20'000, limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  recipe.training.steps = 14;
  EXPECT_ERROR(train(recipe, Start::kResume), "safetensors: cannot write");
  setrlimit(RLIMIT_FSIZE, &limit);
  EXPECT_EQ(read_file(checkpoint_path(recipe.folder)), before);
  for (const auto& entry : std::filesystem::directory_iterator(recipe.folder)) {
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
  }
  EXPECT_EQ(train(recipe, Start::kResume).steps, 14);
}

TEST(Trainer, EarlyStoppingAndGoals) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("a"));
  recipe.training.steps = 1000;
  recipe.training.learning_rate = 0;
  recipe.validation.every = 1;
  recipe.validation.patience = 3;
  EXPECT_EQ(train(recipe, Start::kNew).why, "no improvement in 3 validations");
  recipe.folder = folder.file("b");
  recipe.validation.metric = "loss";
  recipe.validation.goal = 100;
  EXPECT_EQ(train(recipe, Start::kNew).steps, 1);
}

// A batch that does not fit into memory is processed in parts, whose gradients add up to the same.
TEST(Trainer, BatchesAreFittedToTheMemory) {
  const TemporaryFolder plain, fitted, hopeless;
  const auto run = [](const std::string& folder, double memory, Silent& listener) {
    Recipe r = small_recipe(folder);
    r.model.dropout = 0;
    r.training.precision = "f32";
    r.training.optimiser = "sgd";  // unlike Adam, it does not hide a gradient of another magnitude
    r.training.learning_rate = 0.5;
    r.training.memory = memory;
    train(r, Start::kNew, &listener);
  };
  Silent whole, parts;
  run(plain.path(), 0, whole);
  run(fitted.path(), 0.4e-3, parts);
  EXPECT_EQ(whole.messages.find("do not fit"), std::string::npos);
  EXPECT_NE(parts.messages.find("in parts of at most"), std::string::npos) << parts.messages;
  EXPECT_NEAR(parts.validation.loss, whole.validation.loss, 1e-4);
  EXPECT_THROW(
      {
        Silent listener;
        run(hopeless.path(), 1e-6, listener);
      },
      OutOfMemory);
}

TEST(Trainer, BadTextIsRefusedByFileAndLine) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.data.generator = "";
  const auto with = [&](const std::string& source, const std::string& target) {
    recipe.data.train = {folder.file("a", source), folder.file("b", target)};
    return train(recipe, Start::kNew);
  };
  EXPECT_ERROR(with("x\ny\n", "x\n"), "got 1 and 2");
  EXPECT_ERROR(with("", ""), "/a: ");
  EXPECT_ERROR(with("\n\n", "\n\n"), "/a: ");
  EXPECT_ERROR(with("x\n\xff\n", "x\ny\n"), "/a:2");
  EXPECT_ERROR(with("x\ny\n", std::string("x\n\0\n", 4)), "/b:2");
  EXPECT_ERROR(with("x\n" + std::string(1'100'000, 'y') + "\n", "x\ny\n"), "/a:2");
  EXPECT_ERROR(with("x\ny\n", "x\ny\n"), "at least 10 pairs");
  recipe.data.train = {folder.file("none"), folder.file("b")};
  EXPECT_ERROR(train(recipe, Start::kNew), "no such file");
  EXPECT_FALSE(std::filesystem::exists(recipe.folder));
}

// A base64 blob, longer than the 65,535 characters at which SentencePiece would abort the process.
TEST(Trainer, AnOverlongWordIsSkippedAndNamed) {
  const TemporaryFolder folder;
  std::string source, target;
  for (int i = 1; i <= 200; ++i) {
    const bool blob = i == 97 || i == 100;  // line 100 is held out for validation
    source += (blob ? "see " + std::string(66'000, static_cast<char>('a' + i % 26)) : "a b c d e") + "\n";
    target += "e d c b a\n";
  }
  for (const char* kind : {"bpe", "unigram"}) {
    Recipe recipe = small_recipe(folder.file(kind));
    recipe.data.generator = "";
    recipe.data.train = {folder.file("a", source), folder.file("b", target)};
    recipe.source_vocabulary.kind = kind;
    recipe.source_vocabulary.size = 40;
    recipe.training.steps = 1;
    Silent listener;
    train(recipe, Start::kNew, &listener);
    for (const char* expected : {"a:97: skipped: a word of 66,000 characters", "a:100: skipped",
                                 "skipped: 1 with a word of more than 3,000 characters"}) {
      EXPECT_NE(listener.messages.find(expected), std::string::npos) << expected << "\n" << listener.messages;
    }
    EXPECT_NE(listener.messages.find("valid: kept 19 of 19 pairs"), std::string::npos) << listener.messages;
  }
}

TEST(Trainer, WithoutValidationTextSomeIsHeldOut) {
  const TemporaryFolder folder;
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.data.generator = "";
  std::string lines;
  for (int i = 0; i < 100; ++i) lines += "a b c\n";
  recipe.data.train = {folder.file("a", lines), folder.file("b", lines)};
  Silent listener;
  train(recipe, Start::kNew, &listener);
  EXPECT_NE(listener.messages.find("10 pairs of data.train held out"), std::string::npos) << listener.messages;
}

// The alignments contradict those that the model would learn by itself.
TEST(Trainer, GuidedAlignmentMovesAttention) {
  const TemporaryFolder folder;
  std::string lines, alignments;
  for (int i = 0; i < 200; ++i) {
    lines += std::string(1, static_cast<char>('a' + i % 26)) + " x " + static_cast<char>('a' + i % 23) + "\n";
    alignments += "2-0 0-1 1-2\n";
  }
  Recipe recipe = small_recipe(folder.file("run"));
  recipe.data.generator = "";
  recipe.data.train = recipe.data.valid = {folder.file("a", lines), folder.file("b", lines)};
  recipe.data.alignment = folder.file("links", alignments);
  recipe.validation.metric = "loss";
  recipe.training.guided_alignment = 5;
  recipe.training.steps = 150;
  recipe.training.learning_rate = 1e-2;
  recipe.model.dropout = 0;
  train(recipe, Start::kNew);
  const LoadedModel loaded = load_model(recipe.folder, Device::cpu());
  ParallelCorpus pair;
  pair.source.append(loaded.source->encode("c x d"));
  pair.target.append(loaded.target->encode("c x d"));
  const EncoderDecoder* model = loaded.model.get();
  const Hypothesis scored =
      score({&model, 1}, pair, loaded.batches(), {.capture_weights = true}, Device::cpu()).front();
  const HypothesisWeights& w = scored.weights.front();
  EXPECT_GT(w.weights[static_cast<size_t>(0 * w.columns + 2)], 0.9f);
  EXPECT_GT(w.weights[static_cast<size_t>(1 * w.columns + 0)], 0.9f);
  EXPECT_GT(w.weights[static_cast<size_t>(2 * w.columns + 1)], 0.9f);

  // The third head of a transformer's first layer, by the step that reads the token; here that is the row after it.
  recipe.folder = folder.file("head");
  recipe.model.architecture = "transformer";
  recipe.model.attention.score = "scaled-dot";
  recipe.model.embedding = 32;
  recipe.model.decoder_layers = 2;
  recipe.model.attention.heads = 4;
  recipe.training.guided_step = "input";
  recipe.training.guided_layer = 1;
  recipe.training.guided_head = 3;
  train(recipe, Start::kNew);
  const LoadedModel transformer = load_model(recipe.folder, Device::cpu());
  const EncoderDecoder* second = transformer.model.get();
  const Hypothesis again =
      score({&second, 1}, pair, transformer.batches(), {.capture_weights = true}, Device::cpu()).front();
  for (const HypothesisWeights& h : again.weights) {
    if (h.kind != AttentionKind::kCross) continue;
    double least = 1;
    for (const auto& [row, column] : {std::pair{1, 2}, {2, 0}, {3, 1}}) {
      const int64_t at = (2 * h.rows + row) * h.columns + column;  // of the third head
      least = std::min<double>(least, h.weights[static_cast<size_t>(at)]);
    }
    EXPECT_EQ(least > 0.9, h.layer == 0) << h.layer << " " << least;
  }
  recipe.folder = folder.file("bad");
  recipe.training.guided_layer = 3;
  EXPECT_ERROR(train(recipe, Start::kNew), "training.guided_layer: expected at most 2");
  recipe.training.guided_layer = 0;

  recipe.data.alignment = folder.file("links", "0-0\n");
  EXPECT_ERROR(train(recipe, Start::kNew), "expected 200 lines");
  alignments.replace(0, 3, "2:0");
  recipe.data.alignment = folder.file("links", alignments);
  EXPECT_ERROR(train(recipe, Start::kNew), "links:1: expected links such as 0-0 1-2");
}

TEST(Trainer, StartsFromAPretrainedModel) {
  const TemporaryFolder folder;
  const Recipe first = small_recipe(folder.file("first"));
  train(first, Start::kNew);
  Recipe second = small_recipe(folder.file("second"));
  second.seed = 2;
  second.training.pretrained = first.folder;
  second.training.learning_rate = 0;
  second.training.steps = 1;
  Silent told;
  train(second, Start::kNew, &told);
  EXPECT_NE(told.messages.find("million parameters have its weights"), std::string::npos) << told.messages;
  EXPECT_EQ(read_file(second.folder + "/model.safetensors"), read_file(first.folder + "/model.safetensors"));
  EXPECT_EQ(read_file(second.folder + "/source.vocab"), read_file(first.folder + "/source.vocab"));

  Recipe missing = small_recipe(folder.file("missing"));
  missing.training.pretrained = folder.file("nothing");
  EXPECT_THROW(train(missing, Start::kNew), Error);
}

TEST(Trainer, AFolderWithOneVocabularyForBothSidesIsStartedFromAndResumed) {
  const TemporaryFolder folder;
  Recipe first = small_recipe(folder.file("first"));
  first.data.shared_vocabulary = true;
  train(first, Start::kNew);
  const std::string vocabulary = read_file(first.folder + "/source.vocab");
  save_packed(folder.file("packed"), load_model(first.folder, Device::cpu()));
  ASSERT_FALSE(std::filesystem::exists(folder.file("packed/target.vocab")));
  Recipe second = small_recipe(folder.file("second"));
  second.data.shared_vocabulary = true;
  second.training.pretrained = folder.file("packed");
  second.training.steps = 1;
  Silent told;
  train(second, Start::kNew, &told);
  EXPECT_NE(told.messages.find("million parameters have its weights"), std::string::npos) << told.messages;
  EXPECT_EQ(read_file(second.folder + "/target.vocab"), vocabulary);

  std::filesystem::remove(second.folder + "/target.vocab");
  second.training.steps = 2;
  train(second, Start::kResume, &told);
  EXPECT_NE(told.messages.find("resuming from step 1"), std::string::npos) << told.messages;
  EXPECT_EQ(load_model(second.folder, Device::cpu()).target->bytes(), vocabulary);
}

}  // namespace
}  // namespace fovea
