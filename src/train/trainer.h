// A training run: the loop over batches, validation, and everything that is written down. The run's
// folder is a model folder (the best weights so far) with recipe.toml, metrics.jsonl and
// checkpoint.safetensors (all that is needed to go on) beside it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "store/model_folder.h"
#include "tensor/step_graphs.h"
#include "train/objective.h"
#include "train/optimiser.h"
#include "train/recipe.h"
#include "train/run_folder.h"
#include "train/schedule.h"
#include "train/training_text.h"

namespace fovea {

struct StepReport {
  int64_t step = 0, epoch = 0;  // the epoch counts from 0
  double epoch_done = 0;        // the share of it
  double loss = 0;              // mean of the words since the last report, in nats
  double learning_rate = 0, grad_norm = 0, tokens_per_second = 0;
  double minutes = 0, minutes_left = 0;  // left is an estimate, negative where nobody can know
  bool logged = false;                   // it is a line of metrics.jsonl, too
};

struct ValidationReport {
  int64_t step = 0;
  double loss = 0;              // mean of the words, in nats
  std::optional<double> score;  // of the recipe's metric, if that is not the loss
  bool improved = false;
  double best = 0;
  std::string example_source, example_target;  // a translation to look at, if any was decoded
};

// Told what happens. Called on the training thread, between steps.
class TrainingListener {
 public:
  virtual ~TrainingListener() = default;
  virtual void message(const std::string& text) = 0;
  virtual void stepped(const StepReport& report) = 0;  // after every step
  virtual void validating(int64_t done, int64_t total) = 0;
  virtual void validated(const ValidationReport& report) = 0;
};

enum class Start { kNew, kResume, kOverwrite };

struct TrainingResult {
  int64_t steps = 0;
  std::optional<double> best;  // by the validation's metric, once there was a validation
  double minutes = 0;
  bool interrupted = false;
  std::string why;  // it stopped
};

class Trainer {
 public:
  Trainer(const Recipe& recipe, Start start, TrainingListener& listener);

  // Until the recipe says stop, or `interrupt` is set: then the step is finished and a checkpoint saved.
  TrainingResult run(const std::atomic<bool>& interrupt);

 private:
  using Clock = std::chrono::steady_clock;
  struct Progress {
    int64_t step = 0;
    double minutes = 0;
    double best = 0, best_loss = 0;       // the loss decides between equal scores
    int64_t validations = 0, waited = 0;  // waited: validations since the best
  };

  void train_step();
  bool work_on_batch(bool last);  // false: it is to be done again, in smaller pieces
  void take_smaller_pieces(const OutOfMemory& error);
  void work_on(const Batch& batch, const Tensor& alignment, bool last);  // what a card repeats from a graph
  void take_loss();                                                      // from the device; Error when it is not finite
  void update_average();
  void report_step();
  void validate();
  double validation_loss() const;
  void decode_valid(ValidationReport& report) const;
  void save_checkpoint();
  void load_checkpoint();
  std::string reason_to_stop() const;  // empty: none
  double done() const;                 // the share of the run that is over; 0 where nobody can know
  double minutes() const;

  Recipe recipe_;
  TrainingListener& listener_;
  bool resumes_;
  Device device_;
  Precision precision_;
  TrainingText text_;
  Parameters parameters_;
  std::unique_ptr<EncoderDecoder> model_;
  std::unique_ptr<Optimiser> optimiser_;
  Tensor average_;   // of the weights, laid out like them; empty without ema
  Tensor loss_sum_;  // [1]: of the words since it was last taken
  std::unique_ptr<MetricsFile> metrics_;
  Tape tape_;
  StepGraphs<std::array<int64_t, 4>, std::monostate> graphs_;
  Schedule schedule_;
  Objective objective_;
  Progress progress_;
  Clock::time_point began_ = Clock::now(), saved_ = began_, loss_taken_ = began_;
  int64_t most_tokens_ = 0;    // of a piece of a batch, where memory has proved too small for more
  bool epoch_ended_ = false;   // by the last step
  int64_t validated_at_ = -1;  // the step
  double rate_ = 0;            // of the last step
  struct {                     // since the last line in the metrics
    double loss = 0;
    int64_t tokens = 0, with_loss = 0, steps = 0;  // with_loss: of those tokens the loss is known
    Clock::time_point from = Clock::now();
  } counted_;
};

}  // namespace fovea
