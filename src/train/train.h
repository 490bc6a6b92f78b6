// Trains a model from a recipe, as `fovea train` does, and reports what happens to a listener.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include "recipe/recipe.h"
#include "tasks/task.h"

namespace fovea {

struct StepReport {
  std::string_view unit = "token";
  int64_t step = 0, epoch = 0;  // the epoch counts from 0
  double epoch_done = 0;        // the fraction of the epoch that is done
  double loss = 0;              // mean over the target tokens, or other units, since the last line of metrics.jsonl
  int64_t tokens = 0;           // the number of these units
  double learning_rate = 0, grad_norm = 0, tokens_per_second = 0;
  double minutes = 0, minutes_left = 0;  // minutes_left is an estimate, negative if it is unknown
  bool logged = false;                   // the report is also a line of metrics.jsonl
};

struct ValidationReport : Validation {
  int64_t step = 0;
  std::string metric;  // the name of what `score` and `best` are measured by
  bool improved = false;
  double best = 0;
};

// Is called on the training thread, between steps.
class TrainingListener {
 public:
  virtual ~TrainingListener() = default;
  virtual void message(const std::string& text) = 0;
  virtual void stepped(const StepReport& report) = 0;             // after every step
  virtual void preparing(int64_t /*done*/, int64_t /*total*/) {}  // the data, where that takes long
  virtual void validating(int64_t done, int64_t total) = 0;
  virtual void validated(const ValidationReport& report) = 0;
};

enum class Start { kNew, kResume, kOverwrite };

struct TrainingResult {
  int64_t steps = 0;
  std::string metric;          // of the task
  std::optional<double> best;  // by the metric; none before the first validation
  double minutes = 0;
  bool interrupted = false;
  std::string why;  // the reason for which training stopped
};

// Trains until a stopping criterion of the recipe is met or `interrupt` is set: then the step is finished and a
// checkpoint saved. The recipe's folder becomes a model folder with the best weights. Throws an Error if the recipe
// cannot be trained. The task is the one that the recipe names, or `task` if it is given.
TrainingResult train(const Recipe& recipe, Start start, TrainingListener& listener, const std::atomic<bool>& interrupt,
                     const TaskEntry* task = nullptr);

}  // namespace fovea
