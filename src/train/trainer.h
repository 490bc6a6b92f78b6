// A training run: steps, validations, and the files of the run's folder. The folder is a model folder (the best weights
// so far) that also has recipe.toml, metrics.jsonl and checkpoint.safetensors (everything that resuming needs). What is
// trained on, and what for, is known to the task alone.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <variant>

#include "recipe/run_folder.h"
#include "tensor/step_graphs.h"
#include "train/event_file.h"
#include "train/metrics_file.h"
#include "train/optimiser.h"
#include "train/schedule.h"
#include "train/train.h"

namespace fovea {

class Trainer {
 public:
  // The recipe's task comes from the registry, or is the one that is given.
  Trainer(const Recipe& recipe, Start start, TrainingListener& listener);
  Trainer(const Recipe& recipe, const TaskEntry& task, Start start, TrainingListener& listener);

  // Trains until a stopping criterion of the recipe is met or `interrupt` is set: then the step is finished and a
  // checkpoint saved.
  TrainingResult run(const std::atomic<bool>& interrupt);

 private:
  using Clock = std::chrono::steady_clock;
  struct RunState {
    int64_t step = 0;
    double minutes = 0;
    double best = 0, best_loss = 0;  // the loss decides between equal scores
    int64_t validations = 0, validations_since_best = 0;
  };
  struct Counters {  // since the last line of metrics.jsonl
    double loss = 0;
    int64_t units = 0, units_with_loss = 0;  // units_with_loss: those whose loss is in `loss`
    Clock::time_point since = Clock::now();
  };
  struct BeforeStep {
    std::map<std::string, double> task;
    Counters counters;
    int64_t tape_step;
  };

  void train_step();
  void accumulate();  // the gradients of all batches of the step
  void accumulate_part(int64_t index);
  void split_further(const OutOfMemory& error);
  void restore(const BeforeStep& before);
  // Sums gradients over processes: there is one, so nothing is to be done. This is never captured in a CUDA graph.
  void reduce() {}
  void update();  // of the weights, by the gradients
  void update_average();
  void read_loss(const Tensor& sum);  // moves it from the device to the counters; Error if it is not finite
  void report_step();
  void log(const nlohmann::ordered_json& line);  // to metrics.jsonl and the event file
  void validate();
  void save_checkpoint();
  void load_checkpoint();
  void start_from(const std::string& name);  // training.pretrained
  std::string reason_to_stop() const;        // empty if there is none
  double fraction_done() const;              // of the run; 0 if it is unknown
  double minutes() const;

  Recipe recipe_;
  TrainingListener& listener_;
  bool resumes_;
  Device device_;
  Precision precision_;
  Parameters parameters_;
  std::unique_ptr<Task> task_;
  std::unique_ptr<Optimiser> optimiser_;
  Tensor average_;    // moving average of the weights, laid out like them; empty without ema
  Tensor step_loss_;  // [1]: the sum over the units of the step that is being accumulated
  Tensor loss_sum_;   // [1]: on a card, the sum over the units of finished steps since it was last read
  std::unique_ptr<MetricsFile> metrics_;
  std::unique_ptr<EventFile> events_;  // training.tensorboard
  Tape tape_;
  StepGraphs<std::array<int64_t, 4>, std::monostate> part_graphs_;
  // The update has a workspace of its own: a captured graph needs its tensors at the same addresses, but the tape's
  // arena is filled differently by every batch.
  Arena update_workspace_;
  StepGraphs<std::monostate, std::monostate> update_graph_;
  Schedule schedule_;
  RunState state_;
  Counters counters_;
  Clock::time_point began_ = Clock::now(), saved_ = began_, loss_read_ = began_;
  int64_t max_part_tokens_ = 0;  // 0 until a batch has not fitted into memory
  bool epoch_ended_ = false;     // during the last step
  int64_t validated_at_ = -1;    // the step of the last validation
  double rate_ = 0;              // of the last step
};

}  // namespace fovea
