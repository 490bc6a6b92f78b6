#include "tasks/classify_task.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/thousands.h"
#include "evaluate/classification.h"
#include "evaluate/validation_metrics.h"
#include "ops/ops.h"
#include "tasks/classifier.h"
#include "tasks/classify_data.h"
#include "text/word_vectors.h"

namespace fovea {

namespace {

// Of a text whose length nothing else limits: the memory of a pass grows with it.
constexpr int64_t kMaxTokens = 5'000;

ModelConfig model_of(const Recipe& recipe) {
  ModelConfig model = recipe.model;
  if (model.encoder.empty()) model.encoder = "recurrent";
  return model;
}

class ClassifyTask final : public Task {
 public:
  explicit ClassifyTask(const TaskSetup& setup)
      : recipe_(setup.recipe),
        device_(setup.device),
        smoothing_(static_cast<float>(recipe_.training.label_smoothing)),
        penalty_(recipe_.classify.has("structured") ? static_cast<float>(recipe_.classify.penalty) : 0.0f),
        data_(setup) {
    ClassifierFolderConfig& config = loaded_.config;
    config.source_words = data_.source()->size();
    config.labels = data_.labels();
    config.text = recipe_.classify.text;
    config.model = model_of(recipe_);
    config.classifier = recipe_.classify;
    const auto model = std::make_shared<TextClassifier>(setup.parameters, config.model, config.classifier,
                                                        config.source_words, std::ssize(config.labels));
    const int64_t wanted = recipe_.data.filter.max_source > 0 ? recipe_.data.filter.max_source : kMaxTokens;
    const int64_t limit = model->max_source() > 0 ? model->max_source() - 1 : wanted;  // the end mark takes one
    config.max_source = std::max<int64_t>(1, std::min(wanted, limit));
    loaded_.source = data_.source();
    loaded_.parameters = {std::shared_ptr<const Parameters>(), &setup.parameters};  // the trainer owns them
    loaded_.model = model;
    data_.tokenise(config.max_source);
    messages_ = data_.messages();
    if (recipe_.training.freeze_embeddings) setup.parameters.freeze(*model->encoder().embeddings());
    if (!recipe_.data.embeddings.empty() && setup.resume_folder.empty()) read_embeddings();
  }

  const std::vector<std::string>& messages() const override { return messages_; }
  std::string description() const override {
    return fmt::format("{} encoder, {} pooling, {} classes", loaded_.config.model.encoder,
                       fmt::join(recipe_.classify.pooling, " + "), data_.labels().size());
  }
  void save_description(const std::string& folder) const override {
    save_classifier_description(folder, loaded_.config, *loaded_.source);
  }
  void initialise() override;

  Progress progress() const override {
    const Batcher::State state = data_.state();
    return {.epoch = state.epoch, .batch = state.next, .batches = data_.batches()};
  }
  void next_batch() override { data_.next(); }
  int64_t split(int64_t max_tokens) override { return data_.split(max_tokens); }
  int64_t part_tokens() const override { return data_.part_tokens(); }
  Part load_part(int64_t index) override {
    batch_ = data_.part(index, device_);
    return {.sizes = {batch_.source.ids.dim(0), batch_.source.ids.dim(1)}, .units = batch_.source.ids.dim(1)};
  }
  TaskLoss loss() override {
    const Classified result = (*loaded_.model)(batch_.source);
    const Var losses = cross_entropy(result.logits, batch_.labels, smoothing_);  // [B]
    Var all = losses;
    if (penalty_ > 0) all = all + affine(Pooling::penalty(result.weights), penalty_);
    return {.total = sum(all * Var(batch_.weights)), .sum = sum(losses)};
  }

  std::map<std::string, double> state() const override {
    const Batcher::State data = data_.state();
    return {{"epoch", static_cast<double>(data.epoch)}, {"next_batch", static_cast<double>(data.next)}};
  }
  void set_state(const std::map<std::string, double>& state) override {
    data_.set_state(
        {.epoch = static_cast<int64_t>(state.at("epoch")), .next = static_cast<int64_t>(state.at("next_batch"))});
  }

  std::string_view unit() const override { return "text"; }
  std::string metric() const override { return recipe_.validation.metric; }
  bool higher_is_better() const override { return fovea::higher_is_better(metric()); }
  Validation validate(int64_t number, const ValidationProgress& progress) override;

 private:
  void read_embeddings();

  Recipe recipe_;
  Device device_;
  float smoothing_, penalty_;
  ClassifyData data_;
  LoadedClassifier loaded_;  // the model that is trained
  std::vector<std::string> messages_;
  LabelledBatch batch_;                            // the loaded part
  std::map<int32_t, std::vector<float>> vectors_;  // pretrained, by token id, until they are copied
};

void ClassifyTask::read_embeddings() {
  const Vocabulary& vocabulary = *data_.source();
  read_word_vectors(recipe_.data.embeddings, recipe_.model.embedding,
                    [&](std::string_view word, std::span<const float> vector) {
                      const std::vector<int32_t> ids = vocabulary.encode(word);
                      if (ids.size() != 1 || ids[0] == kUnknown) return;
                      vectors_.emplace(ids[0], std::vector<float>(vector.begin(), vector.end()));
                    });
  const int64_t tokens = vocabulary.size() - kEnd - 1;
  messages_.push_back(fmt::format("{}: {} of {} tokens have pretrained vectors", recipe_.data.embeddings,
                                  thousands(std::ssize(vectors_)), thousands(tokens)));
  check(!vectors_.empty(), "{}: expected vectors of words in the vocabulary, got none", recipe_.data.embeddings);
}

void ClassifyTask::initialise() {
  if (vectors_.empty()) return;
  const Tensor& table = loaded_.model->encoder().embeddings()->value();
  for (const auto& [id, vector] : vectors_) {
    copy(from_host(vector, {std::ssize(vector)}, Device::cpu()), table[id]);
  }
  table.contents_changed();
  vectors_.clear();
}

Validation ClassifyTask::validate(int64_t number, const ValidationProgress& progress) {
  const std::vector<std::string>& texts = data_.valid_texts();
  const auto count = std::ssize(texts);
  const Classifier classifier(loaded_, device_, product_precision());
  const std::vector<float> log_probs =
      classifier.log_probabilities(texts, [&](int64_t done) { progress(done, count); });
  const size_t classes = data_.labels().size();
  std::vector<ClassOutcome> outcomes;
  double loss = 0;
  int64_t known = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    const float* of_text = log_probs.data() + i * classes;
    const auto best = std::max_element(of_text, of_text + classes);
    const int32_t truth = data_.valid_classes()[i];
    outcomes.push_back({truth, static_cast<int32_t>(best - of_text), std::exp(static_cast<double>(*best))});
    if (truth == kUnseenClass) continue;
    loss -= static_cast<double>(of_text[truth]);
    ++known;
  }
  const ClassificationReport report = classification_report(outcomes, data_.labels());
  Validation validation{.loss = loss / static_cast<double>(std::max<int64_t>(1, known))};
  validation.scores = {{"accuracy", report.accuracy()}, {"macro-f1", report.macro_f1()}};
  if (metric() == "accuracy") validation.score = report.accuracy();
  if (metric() == "macro-f1") validation.score = report.macro_f1();
  const auto example = static_cast<size_t>(number % count);
  validation.example_input = texts[example];
  validation.example_output = data_.labels()[static_cast<size_t>(outcomes[example].predicted)];
  return validation;
}

}  // namespace

std::unique_ptr<Task> make_classify_task(const TaskSetup& setup) { return std::make_unique<ClassifyTask>(setup); }

}  // namespace fovea
