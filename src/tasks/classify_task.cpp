#include "tasks/classify_task.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/thousands.h"
#include "tasks/class_task.h"
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

class ClassifyTask final : public ClassTask {
 public:
  explicit ClassifyTask(const TaskSetup& setup) : ClassTask(setup), data_(setup) {
    ClassifierFolderConfig& config = loaded_.config;
    config.source_words = data_.source()->size();
    config.labels = labelled().labels();
    config.model = model_of(recipe_);
    loaded_.source = data_.source();
    loaded_.model = make_classifier(setup.parameters, config);
    const int64_t longest = loaded_.model->max_source();
    const int64_t wanted = recipe_.data.filter.max_source > 0 ? recipe_.data.filter.max_source : kMaxTokens;
    const int64_t limit = longest > 0 ? longest - 1 : wanted;  // the end mark takes one
    config.max_source = std::max<int64_t>(1, std::min(wanted, limit));
    data_.tokenise(config.max_source);
    messages_ = data_.messages();
    if (recipe_.training.freeze_embeddings) setup.parameters.freeze(*loaded_.model->encoder().embeddings());
    if (!recipe_.data.embeddings.empty() && setup.resume_folder.empty()) read_embeddings();
  }

  const std::vector<std::string>& messages() const override { return messages_; }
  std::string description() const override {
    return fmt::format("{} encoder, {} pooling, {} classes", loaded_.config.model.encoder,
                       fmt::join(recipe_.classify.pooling, " + "), labelled().labels().size());
  }
  void initialise() override;

  void next_batch() override { data_.next(); }
  int64_t split(int64_t max_tokens) override { return data_.split(max_tokens); }
  int64_t part_tokens() const override { return data_.part_tokens(); }
  Part load_part(int64_t index) override {
    batch_ = data_.part(index, device_);
    return {.sizes = {batch_.source.ids.dim(0), batch_.source.ids.dim(1)}, .units = batch_.source.ids.dim(1)};
  }
  std::string_view unit() const override { return "text"; }

 private:
  const LabelledData& labelled() const override { return data_.labelled(); }
  int64_t batches() const override { return data_.batches(); }
  Batcher::State position() const override { return data_.state(); }
  void set_position(Batcher::State state) override { data_.set_state(state); }
  std::vector<float> valid_log_probabilities(const ValidationProgress& progress) const override {
    const std::vector<std::string>& texts = labelled().valid().texts;
    const Classifier classifier(loaded_, device_, product_precision());
    return classifier.log_probabilities(texts, [&](int64_t done) { progress(done, std::ssize(texts)); });
  }
  void read_embeddings();

  ClassifyData data_;
  std::vector<std::string> messages_;
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

}  // namespace

std::unique_ptr<Task> make_classify_task(const TaskSetup& setup) { return std::make_unique<ClassifyTask>(setup); }

}  // namespace fovea
