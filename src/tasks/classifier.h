// Classifies texts with a trained model.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/record.h"
#include "store/classifier_folder.h"
#include "tasks/task.h"

namespace fovea {

struct Classification {
  std::vector<ClassProbability> classes;  // likeliest first
  int64_t tokens = 0;                     // of the whole text; 0 for a picture
  bool truncated = false;                 // the text was longer than the model reads: its last tokens were left out
  std::optional<AttentionRecord> record;  // if it was asked for
};

// Adds all classes, likeliest first, of log-probabilities [example][class], to the results and their records.
void add_classes(std::span<const float> log_probs, std::span<const std::string> labels,
                 std::span<Classification> results);

struct ClassifyOptions {
  bool capture_weights = false;  // with records
};

// Several threads may use a Classifier at the same time.
class Classifier final : public Predictor {
 public:
  Classifier(const std::string& folder, const PredictorOptions& options);
  // The weights are read anew at each call: the model may be trained in between.
  Classifier(LoadedClassifier model, Device device, Precision precision);

  const std::vector<std::string>& labels() const { return model_.config.labels; }
  const LoadedClassifier& model() const { return model_; }
  int64_t max_source() const { return model_.config.max_source; }  // tokens of a text that are read

  // One classification for each text, empty ones too. `done` receives the number of classified texts.
  std::vector<Classification> classify(std::span<const std::string> texts, const ClassifyOptions& options = {},
                                       const std::function<void(int64_t)>& done = {}) const;
  // The log-probabilities of all classes, [text][class].
  std::vector<float> log_probabilities(std::span<const std::string> texts,
                                       const std::function<void(int64_t)>& done = {}) const;
  std::vector<std::string> predict(std::span<const std::string> inputs) const override;  // the likeliest labels

 private:
  using Rows = std::span<const std::span<const int32_t>>;
  using TakeBatch = std::function<void(const Batch& batch, const Classified& classified)>;
  // Calls `take` for each batch of rows, on several threads at a time.
  void run(Rows rows, Capture capture, const TakeBatch& take, const std::function<void(int64_t)>& done) const;
  void classify_batch(const Batch& batch, Capture capture, const TakeBatch& take) const;
  std::vector<float> log_probabilities(Rows rows, Capture capture, const TakeBatch& take,
                                       const std::function<void(int64_t)>& done) const;

  LoadedClassifier model_;
  Device device_;
  Precision precision_;
};

std::unique_ptr<Predictor> load_classify_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
