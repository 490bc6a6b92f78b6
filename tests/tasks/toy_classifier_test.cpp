// A task in one small file: a classifier of lines. The trainer trains it through the seams alone.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "base/random.h"
#include "nn/layers.h"
#include "store/model_folder.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

using Lines = std::vector<std::string>;

const Lines kLabels = {"fruit", "animal", "colour"};
const std::vector<Lines> kWords = {{"apple", "pear", "plum"}, {"cat", "dog", "horse"}, {"red", "green", "blue"}};

struct Examples {
  Lines lines;
  std::vector<int32_t> labels;
};

// A line has a word of its class at either end and noise between.
Examples make_examples(int64_t count, uint64_t seed) {
  Examples examples;
  Random random(seed);
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t label = random.below(kLabels.size());
    std::string line = kWords[label][random.below(3)];
    for (uint64_t noise = random.below(5); noise > 0; --noise) line += noise % 2 == 0 ? " the" : " a";
    examples.lines.push_back(line + " " + kWords[label][random.below(3)]);
    examples.labels.push_back(static_cast<int32_t>(label));
  }
  return examples;
}

// Embedding, mean over time, linear.
class Classifier {
 public:
  Classifier(Parameters& parameters, std::unique_ptr<Vocabulary> words)
      : vocabulary(std::move(words)),
        embedding_(parameters, "embedding", vocabulary->size(), 16),
        out_(parameters, "out", 16, std::ssize(kLabels)) {}

  struct Input {
    Tensor ids, lengths;  // [S,B], [B]
  };
  Input encode(std::span<const std::string> lines, Device device) const {
    std::vector<std::vector<int32_t>> all;
    std::vector<int32_t> lengths;
    for (const std::string& line : lines) all.push_back(vocabulary->encode(line));
    for (const auto& ids : all) lengths.push_back(static_cast<int32_t>(ids.size()));
    const int64_t time = std::ranges::max(lengths), batch = std::ssize(lines);
    std::vector<int32_t> padded(static_cast<size_t>(time * batch), kPad);
    for (size_t b = 0; b < all.size(); ++b) {
      for (size_t t = 0; t < all[b].size(); ++t) padded[t * all.size() + b] = all[b][t];
    }
    return {from_host(padded, {time, batch}, device), from_host(lengths, {batch}, device)};
  }
  Var logits(const Input& input) const {
    return out_(pool_time(PoolOp::kAverage, embedding_(input.ids), input.lengths));
  }
  Lines answer(std::span<const std::string> lines, Device device) const {
    Lines answers;
    for (const int32_t label : to_host<int32_t>(argmax(logits(encode(lines, device)).value(), 1))) {
      answers.push_back(kLabels[static_cast<size_t>(label)]);
    }
    return answers;
  }
  const std::unique_ptr<Vocabulary> vocabulary;

 private:
  Embedding embedding_;
  Linear out_;
};

class ToyTask final : public Task {
 public:
  explicit ToyTask(const TaskSetup& setup)
      : device_(setup.device),
        model_(setup.parameters, setup.resume_folder.empty()
                                     ? train_vocabulary(train_.lines, {.kind = "word"}).vocabulary
                                     : load_vocabulary(setup.resume_folder, "source")) {}

  std::string description() const override { return "toy classifier"; }
  void save_description(const std::string& folder) const override {
    std::filesystem::create_directories(folder);
    write_file_atomically(folder + "/config.json", R"({"task": "toy"})");
    save_vocabulary(*model_.vocabulary, folder, "source");
  }
  Progress progress() const override { return {next_ / kBatches, next_ % kBatches, kBatches}; }
  void next_batch() override { first_ = static_cast<size_t>(next_++ % kBatches) * kBatch; }
  Part load_part(int64_t) override {
    input_ = model_.encode(std::span(train_.lines).subspan(first_, kBatch), device_);
    labels_ = from_host(std::span<const int32_t>(train_.labels).subspan(first_, kBatch), {kBatch}, device_);
    return {.sizes = {input_.ids.dim(0)}, .units = kBatch};
  }
  TaskLoss loss() override {
    const Var total = sum(cross_entropy(model_.logits(input_), labels_));
    return {.total = affine(total, 1.0f / kBatch), .sum = total};
  }
  std::map<std::string, double> state() const override { return {{"next_batch", static_cast<double>(next_)}}; }
  void set_state(const std::map<std::string, double>& state) override {
    next_ = static_cast<int64_t>(state.at("next_batch"));
  }
  std::string metric() const override { return "accuracy"; }
  bool higher_is_better() const override { return true; }
  Validation validate(int64_t, const ValidationProgress&) override {
    const Tensor labels = from_host(valid_.labels, {std::ssize(valid_.labels)}, device_);
    const Var loss = mean(cross_entropy(model_.logits(model_.encode(valid_.lines, device_)), labels));
    const Lines answers = model_.answer(valid_.lines, device_);
    double correct = 0;
    for (size_t i = 0; i < answers.size(); ++i) {
      correct += answers[i] == kLabels[static_cast<size_t>(valid_.labels[i])] ? 1 : 0;
    }
    return {.loss = to_host<float>(loss.value())[0], .score = 100 * correct / static_cast<double>(answers.size())};
  }

 private:
  static constexpr int64_t kBatch = 16, kBatches = 20;
  Examples train_ = make_examples(kBatch * kBatches, 1), valid_ = make_examples(60, 2);
  Device device_;
  Classifier model_;
  int64_t next_ = 0;
  size_t first_ = 0;
  Classifier::Input input_;
  Tensor labels_;
};

class ToyPredictor final : public Predictor {
 public:
  explicit ToyPredictor(const std::string& folder) : model_(parameters_, load_vocabulary(folder, "source")) {
    parameters_.allocate_unset();
    load_weights(folder, parameters_);
  }
  Lines predict(std::span<const std::string> inputs) const override { return model_.answer(inputs, Device::cpu()); }

 private:
  Parameters parameters_{Device::cpu()};
  Classifier model_;
};

TEST(ToyClassifier, IsTrainedInterruptedResumedAndAnswers) {
  const TaskEntry toy = {
      "toy", "Classifies lines of words.", "toy",
      [](const TaskSetup& setup) -> std::unique_ptr<Task> { return std::make_unique<ToyTask>(setup); },
      [](const std::string& folder, const PredictorOptions&) -> std::unique_ptr<Predictor> {
        return std::make_unique<ToyPredictor>(folder);
      }};
  const TemporaryFolder folder;
  Recipe recipe{.folder = folder.file("run"), .task = "toy"};
  recipe.training.learning_rate = 0.02;
  recipe.training.steps = 200;
  recipe.validation.every = 20;
  recipe.validation.goal = 100;
  Silent first, second;
  first.stop_after = 3;
  EXPECT_TRUE(train(recipe, Start::kNew, first, first.interrupt, &toy).interrupted);
  EXPECT_EQ(train(recipe, Start::kResume, second, second.interrupt, &toy).why, "accuracy reached 100");
  EXPECT_NE(second.messages.find("resuming from step 3"), std::string::npos) << second.messages;
  EXPECT_EQ(task_of_model(recipe.folder), "toy");
  const Lines questions = {"dog horse", "blue a the a green", "apple the plum"};
  EXPECT_EQ(toy.load(recipe.folder, {})->predict(questions), (Lines{"animal", "colour", "fruit"}));
}

}  // namespace
}  // namespace fovea
