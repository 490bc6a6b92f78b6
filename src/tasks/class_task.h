// What the tasks that learn classes share, of texts or of pictures: the loss, and validation by accuracy and macro-F1.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "store/classifier_folder.h"
#include "tasks/labelled_data.h"
#include "tasks/task.h"
#include "text/batches.h"

namespace fovea {

class ClassTask : public Task {
 public:
  void save_description(const std::string& folder) const override { save_classifier_description(folder, loaded_); }
  Progress progress() const override;
  TaskLoss loss() override;
  std::map<std::string, double> state() const override;
  void set_state(const std::map<std::string, double>& state) override;
  std::string metric() const override { return recipe_.validation.metric; }
  bool higher_is_better() const override;
  Validation validate(int64_t number, const ValidationProgress& progress) override;

 protected:
  explicit ClassTask(const TaskSetup& setup);

  virtual const LabelledData& labelled() const = 0;
  virtual int64_t batches() const = 0;
  virtual Batcher::State position() const = 0;
  virtual void set_position(Batcher::State state) = 0;
  // The log-probabilities of all classes for each validation example, [example][class].
  virtual std::vector<float> valid_log_probabilities(const ValidationProgress& progress) const = 0;

  Recipe recipe_;
  Device device_;
  LoadedClassifier loaded_;  // the model that is trained
  LabelledBatch batch_;      // the loaded part

 private:
  float smoothing_, penalty_;
};

}  // namespace fovea
