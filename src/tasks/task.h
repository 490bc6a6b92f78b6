// A task is everything about training that the trainer does not know: the examples and their batches, vocabularies or
// labels, the model and its loss, validation and its metric, and the description of the model in its folder. A
// predictor is a trained model that answers. The registry has an entry for each task; a recipe names one.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/parameters.h"

namespace fovea {

class Fields;
struct Recipe;
class Vocabulary;

// The position in the training data.
struct Progress {
  int64_t epoch = 0;    // counts from 0
  int64_t batch = 0;    // batches of this epoch that were read
  int64_t batches = 1;  // of this epoch
};

// A part of a batch on the device. Parts of equal sizes launch the same kernels, so they share one captured CUDA graph.
struct Part {
  std::array<int64_t, 4> sizes = {};  // for instance lengths and batch size
  int64_t units = 0;                  // what the reported loss is a mean of: target tokens, or examples
};

struct TaskLoss {
  Var total;  // [1]: is differentiated; the parts of a batch add up to the loss of the batch
  Var sum;    // [1]: is reported, summed over the units of the part
};

struct Validation {
  double loss = 0;              // mean over the units
  std::optional<double> score;  // by the task's metric; none if the metric is the loss
  // All scores by name, where they cost no more than the metric's; they are reported instead of the perplexity.
  std::vector<std::pair<std::string, double>> scores = {};
  std::string example_input, example_output;  // empty if nothing was predicted
};

class Task {
 public:
  virtual ~Task() = default;

  // Reports and warnings from reading the data.
  virtual const std::vector<std::string>& messages() const;
  // Names the model in the message about its size, for instance "bahdanau".
  virtual std::string description() const = 0;
  // Writes every file of a model folder but the weights; creates the folder.
  virtual void save_description(const std::string& folder) const = 0;
  // Is called when the parameters of a new run have their initial values, which it may replace.
  virtual void initialise() {}

  // ---- training data ----
  virtual Progress progress() const = 0;
  // Reads the next batch; after the last one of an epoch comes the first one of the next epoch.
  virtual void next_batch() = 0;
  // Splits the batch into parts of at most `max_tokens` tokens, padding counted, or of one example each; 0 stands for
  // no limit. Returns the number of parts. By default a batch is never split.
  virtual int64_t split(int64_t max_tokens);
  // The size of a part in tokens, padding counted; 0 if the batch cannot be split into more parts: running out of
  // memory then ends the run.
  virtual int64_t part_tokens() const;
  // Copies a part of the batch to the device. Its tensors are valid until the next part is loaded.
  virtual Part load_part(int64_t index) = 0;
  // Computes the loss of the loaded part on the current tape. On a card this may be captured as a CUDA graph and
  // launched for later parts of the same sizes, unless it copies to the host.
  virtual TaskLoss loss() = 0;
  // What Part::units counts.
  virtual std::string_view unit() const { return "token"; }

  // The state that a checkpoint stores: the position in the data, moving averages of the loss. It is also restored
  // when a step is repeated. The keys must differ from the trainer's (see train/checkpoint.cpp).
  virtual std::map<std::string, double> state() const = 0;
  virtual void set_state(const std::map<std::string, double>& state) = 0;

  // ---- validation ----
  // The metric that decides which weights are the best, and that metrics.jsonl names.
  virtual std::string metric() const;
  virtual bool higher_is_better() const;
  // `number` counts validations from 0, so that each can show another example.
  using ValidationProgress = std::function<void(int64_t done, int64_t total)>;
  virtual Validation validate(int64_t number, const ValidationProgress& progress) = 0;
};

// A trained model that answers, one line of text for each input.
class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual std::vector<std::string> predict(std::span<const std::string> inputs) const = 0;
};

struct TaskSetup {
  const Recipe& recipe;
  Parameters& parameters;  // the task declares its parameters here; the trainer allocates and owns them
  Device device;
  std::string resume_folder;  // where vocabularies or labels are read from; empty for a new run
  // Is told how far long preparations are, for instance the features of pictures; may be empty.
  std::function<void(int64_t done, int64_t total)> progress = {};

  // The vocabulary of this run: the one of the resumed run, or of the model that it starts from (training.pretrained).
  // Null if neither has one.
  std::shared_ptr<const Vocabulary> known_vocabulary(const std::string& stem) const;
};

struct PredictorOptions {
  std::string device = "auto";
  std::string precision = "auto";  // or f32, bf16, int8

  void describe(Fields& fields);
};

struct TaskEntry {
  std::string_view name, help;
  std::string_view command;  // of the program, that uses a trained model
  std::unique_ptr<Task> (*make)(const TaskSetup&);
  std::unique_ptr<Predictor> (*load)(const std::string& folder, const PredictorOptions&);
};

std::span<const TaskEntry> tasks();
const TaskEntry& task_named(std::string_view name);
// Loads a model folder by the task that its config.json names.
std::unique_ptr<Predictor> load_predictor(const std::string& folder, const PredictorOptions& options = {});

}  // namespace fovea
