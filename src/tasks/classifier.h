// Classifies texts with a trained model.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/record.h"
#include "tasks/task.h"

namespace fovea {

struct LoadedClassifier;  // store/classifier_folder.h

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
  explicit Classifier(const std::string& folder, const PredictorOptions& options = {});
  // The weights are read anew at each call: the model may be trained in between.
  Classifier(LoadedClassifier model, Device device, Precision precision);

  const std::vector<std::string>& labels() const;
  const LoadedClassifier& model() const;
  int64_t max_source() const;  // tokens of a text that are read

  // One classification for each text, empty ones too. `done` receives the number of classified texts.
  std::vector<Classification> classify(std::span<const std::string> texts, const ClassifyOptions& options = {},
                                       const std::function<void(int64_t)>& done = {}) const;
  // The log-probabilities of all classes, [text][class].
  std::vector<float> log_probabilities(std::span<const std::string> texts,
                                       const std::function<void(int64_t)>& done = {}) const;
  std::vector<std::string> predict(std::span<const std::string> inputs) const override;  // the likeliest labels

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

std::unique_ptr<Predictor> load_classify_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
