#include "train/trainer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "base/thousands.h"
#include "base/threads.h"
#include "decode/translator.h"
#include "kernels/cpu/cpu.h"
#include "ops/ops.h"
#include "store/model_folder.h"
#include "store/pretrained_weights.h"
#include "store/shipped.h"

namespace fovea {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsBetweenLines = 10;
constexpr double kSecondsBetweenLossReads = 0.2;
constexpr double kEmaWarmup = 10;  // the moving average follows the weights closely during the first steps

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

OptimiserOptions optimiser_options(const TrainingConfig& c) {
  using Kind = OptimiserOptions::Kind;
  return {.kind = c.optimiser == "sgd"    ? Kind::kSgd
                  : c.optimiser == "adam" ? Kind::kAdam
                                          : Kind::kAdamW,
          .clip_norm = static_cast<float>(c.clip_norm),
          .weight_decay = static_cast<float>(c.weight_decay),
          .momentum = static_cast<float>(c.momentum),
          .beta1 = static_cast<float>(c.beta1),
          .beta2 = static_cast<float>(c.beta2),
          .epsilon = static_cast<float>(c.epsilon)};
}

// Replaces the values of the parameters as long as it lives; an empty tensor replaces nothing.
class ReplacedWeights {
 public:
  ReplacedWeights(const Parameters& parameters, const Tensor& replacement) : values_(parameters.values()) {
    if (!replacement) return;
    original_ = empty(values_.shape(), values_.dtype(), values_.device());
    copy(values_, original_);
    copy(replacement, values_);
    values_.contents_changed();
  }
  ~ReplacedWeights() {
    if (!original_) return;
    copy(original_, values_);
    values_.contents_changed();
  }
  ReplacedWeights(const ReplacedWeights&) = delete;
  ReplacedWeights& operator=(const ReplacedWeights&) = delete;

 private:
  Tensor values_, original_;
};

bool resumes(const Recipe& recipe, const TaskEntry& task, Start start) {
  check(recipe.task == task.name, "task: expected {}, got {}", task.name, recipe.task);
  check(!recipe.folder.empty(), "folder: expected a folder for the run, got none; set one with --set folder=runs/NAME");
  if (start == Start::kOverwrite) remove_run(recipe.folder);
  const bool there = std::filesystem::exists(checkpoint_path(recipe.folder));
  check(
      !there || start == Start::kResume,
      "{}: there is a training run already; continue it (--resume), replace it (--overwrite), or choose another folder "
      "(--set folder=...)",
      recipe.folder);
  if (there) check_same_run(recipe);
  if (recipe.threads > 0) set_thread_count(static_cast<int>(recipe.threads));
  return there;
}

}  // namespace

Trainer::Trainer(const Recipe& recipe, Start start, TrainingListener& listener)
    : Trainer(recipe, task_named(recipe.task), start, listener) {}

Trainer::Trainer(const Recipe& recipe, const TaskEntry& task, Start start, TrainingListener& listener)
    : recipe_(recipe),
      listener_(listener),
      resumes_(resumes(recipe, task, start)),
      device_(device_named(recipe.device)),
      precision_(precision_named(recipe.training.precision, device_)),
      parameters_(device_),
      task_(task.make({recipe_, parameters_, device_, resumes_ ? recipe.folder : "",
                       [&listener](int64_t done, int64_t total) { listener.preparing(done, total); }})),
      tape_(device_, static_cast<uint64_t>(recipe.seed)),
      part_graphs_(device_),
      update_workspace_(device_),
      update_graph_(device_),
      schedule_(recipe.training) {
  for (const std::string& text : task_->messages()) listener_.message(text);
  parameters_.allocate(static_cast<uint64_t>(recipe.seed));
  if (!resumes_) task_->initialise();
  optimiser_ = std::make_unique<Optimiser>(parameters_, optimiser_options(recipe.training));
  if (recipe.training.ema > 0) {
    average_ = empty(parameters_.values().shape(), parameters_.dtype(), device_);
    copy(parameters_.values(), average_);
  }
  step_loss_ = zeros({1}, DType::kF32, device_);
  loss_sum_ = zeros({1}, DType::kF32, device_);
  tape_.set_memory_limit(static_cast<size_t>(recipe.training.memory * 1e9));
  const bool narrow = (device_.on_host() ? computed_precision(precision_) : precision_) == Precision::kBF16;
  listener_.message(fmt::format("{}: {:.2f} million parameters on {}, products in {}", task_->description(),
                                static_cast<double>(parameters_.count()) / 1e6, device_, narrow ? "bf16" : "f32"));
  if (resumes_) {
    load_checkpoint();
    listener_.message(fmt::format("resuming from step {}", thousands(state_.step)));
  } else {
    if (!recipe.training.pretrained.empty()) start_from(recipe.training.pretrained);
    if (start == Start::kResume)
      listener_.message(fmt::format("{}: nothing to resume; starting a new run", recipe.folder));
    task_->save_description(recipe.folder);
  }
  save_recipe(recipe_);
  metrics_ = std::make_unique<MetricsFile>(recipe.folder, state_.step);
  if (recipe.training.tensorboard) events_ = std::make_unique<EventFile>(recipe.folder, state_.step);
}

// At most three of several names, and how many more there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  const auto shown = std::span(names).first(std::min(kMost, names.size()));
  const size_t more = names.size() - shown.size();
  return fmt::format("{}{}", fmt::join(shown, "; "), more > 0 ? fmt::format(" and {} more", more) : "");
}

void Trainer::start_from(const std::string& name) {
  const auto* extended = dynamic_cast<const HasExtendedRows*>(task_.get());
  const MatchingWeights matching = load_matching_weights(
      find_model(name), parameters_, extended != nullptr ? extended->extended_rows() : std::vector<ExtendedRows>());
  check(matching.elements > 0,
        "training.pretrained: {}: expected parameters with the names and shapes of this model, got none{}", name,
        matching.other_shape.empty() ? "" : "; other shapes: " + some_of(matching.other_shape));
  if (average_) copy(parameters_.values(), average_);
  listener_.message(
      fmt::format("{}: {:.2f} of {:.2f} million parameters have its weights{}{}", name,
                  static_cast<double>(matching.elements) / 1e6, static_cast<double>(parameters_.count()) / 1e6,
                  matching.missing.empty() ? "" : "; not in it: " + some_of(matching.missing),
                  matching.other_shape.empty() ? "" : "; other shapes: " + some_of(matching.other_shape)));
}

TrainingResult Trainer::run(const std::atomic<bool>& interrupt) {
  const PrecisionScope precision(precision_);
  began_ = saved_ = counters_.since = Clock::now();
  std::string why = reason_to_stop();
  while (why.empty() && !interrupt) {
    train_step();
    report_step();
    const int64_t every = recipe_.validation.every;
    if (every > 0 ? state_.step % every == 0 : epoch_ended_) validate();
    if (seconds_since(saved_) > recipe_.training.checkpoint_minutes * 60) save_checkpoint();
    why = reason_to_stop();
  }
  const bool interrupted = why.empty();
  if (!interrupted && validated_at_ != state_.step && state_.step > 0) validate();
  if (state_.validations == 0) save_weights(recipe_.folder, parameters_, average_ ? average_ : parameters_.values());
  save_checkpoint();
  return {.steps = state_.step,
          .metric = task_->metric(),
          .best = state_.validations > 0 ? std::optional(state_.best) : std::nullopt,
          .minutes = state_.minutes,
          .interrupted = interrupted,
          .why = interrupted ? "interrupted" : why};
}

void Trainer::train_step() {
  ++state_.step;
  rate_ = schedule_.rate(state_.step, fraction_done());
  const int64_t epoch = task_->progress().epoch;
  const BeforeStep before{task_->state(), counters_, tape_.step()};
  for (bool accumulated = false; !accumulated;) {
    try {
      accumulate();
      accumulated = true;
    } catch (const OutOfMemory& error) {
      split_further(error);
      restore(before);
    }
  }
  epoch_ended_ = task_->progress().epoch != epoch;
  reduce();
  update();
}

void Trainer::accumulate() {
  for (int64_t i = 0; i < recipe_.training.accumulation; ++i) {
    task_->next_batch();
    const int64_t parts = task_->split(max_part_tokens_);
    for (int64_t part = 0; part < parts; ++part) accumulate_part(part);
  }
}

void Trainer::accumulate_part(int64_t index) {
  tape_.reset();
  const TapeScope tape_scope(tape_);
  const Part part = task_->load_part(index);
  parameters_.values().buffer()->refresh_derived();
  counters_.units += part.units;
  part_graphs_.run(part.sizes, tape_.generation(), [&] {
    const TaskLoss loss = task_->loss();
    tape_.backward(affine(loss.total, 1.0f / static_cast<float>(recipe_.training.accumulation)));
    kernels(device_).affine(stream(device_), {.x = loss.sum.value().reshape({1}), .y = step_loss_, .accumulate = true});
    if (device_.on_host()) read_loss(step_loss_);
    return std::monostate();
  });
}

// Rethrows the error if the batch cannot be split into smaller parts.
void Trainer::split_further(const OutOfMemory& error) {
  const int64_t tokens = task_->part_tokens();
  if (tokens <= 1) throw;
  max_part_tokens_ = tokens / 2;
  listener_.message(fmt::format(
      "a batch of {} tokens does not fit into memory ({}); from now on batches are processed in parts of at "
      "most {} tokens, with the same result",
      thousands(tokens), error.what(), thousands(max_part_tokens_)));
}

void Trainer::restore(const BeforeStep& before) {
  tape_.reset();
  tape_.set_step(before.tape_step);
  for (const Tensor& sum : {parameters_.grads(), step_loss_}) zero_memory(device_, sum.raw(), sum.bytes());
  task_->set_state(before.task);
  counters_ = before.counters;
}

void Trainer::update() {
  const ArenaScope scope(&update_workspace_);
  update_workspace_.rewind();
  optimiser_->step(static_cast<float>(rate_), [&](const Optimiser::Update& update_weights) {
    update_graph_.run({}, update_workspace_.generation(), [&] {
      update_weights();
      if (!device_.on_host()) {
        kernels(device_).affine(stream(device_), {.x = step_loss_, .y = loss_sum_, .accumulate = true});
        zero_memory(device_, step_loss_.raw(), step_loss_.bytes());
      }
      return std::monostate();
    });
  });
  update_average();
}

void Trainer::read_loss(const Tensor& sum) {
  const double value = to_host<float>(sum)[0];
  zero_memory(device_, sum.raw(), sum.bytes());
  check(std::isfinite(value),
        "training: the loss is not finite at step {}; the last checkpoint is unchanged. Try a lower "
        "training.learning_rate or training.clip_norm, or a longer training.warmup",
        state_.step);
  counters_.loss += value;
  counters_.units_with_loss = counters_.units;
  loss_read_ = Clock::now();
}

void Trainer::update_average() {
  if (!average_) return;
  const auto t = static_cast<double>(state_.step);
  const auto decay = static_cast<float>(std::min(recipe_.training.ema, (1 + t) / (kEmaWarmup + t)));
  const KernelTable& k = kernels(device_);
  k.affine(stream(device_), {.x = average_, .y = average_, .alpha = decay});
  k.affine(stream(device_), {.x = parameters_.values(), .y = average_, .alpha = 1.0f - decay, .accumulate = true});
}

void Trainer::report_step() {
  const double seconds = seconds_since(counters_.since);
  const Progress progress = task_->progress();
  const int64_t every = recipe_.report_every;
  const bool logged = every > 0 ? state_.step % every == 0 : seconds >= kSecondsBetweenLines || epoch_ended_;
  // Reading the loss from a card waits for all queued work, so it is not read after every step.
  const bool reads = logged || counters_.units_with_loss == 0 || seconds_since(loss_read_) >= kSecondsBetweenLossReads;
  if (!device_.on_host() && reads) read_loss(loss_sum_);
  const double done = fraction_done();
  StepReport report{.unit = task_->unit(),
                    .step = state_.step,
                    .epoch = progress.epoch,
                    .epoch_done = static_cast<double>(progress.batch) / static_cast<double>(progress.batches),
                    .loss = counters_.loss / static_cast<double>(counters_.units_with_loss),
                    .tokens = counters_.units,
                    .learning_rate = rate_,
                    .tokens_per_second = static_cast<double>(counters_.units) / seconds,
                    .minutes = minutes(),
                    .minutes_left = done > 0 ? minutes() * (1 - done) / done : -1,
                    .logged = logged};
  if (report.logged) {
    report.grad_norm = optimiser_->grad_norm();
    log({{"event", "train"},
         {"step", report.step},
         {"epoch", static_cast<double>(report.epoch) + report.epoch_done},
         {"loss", report.loss},
         {"learning_rate", report.learning_rate},
         {"grad_norm", report.grad_norm},
         {"tokens_per_second", report.tokens_per_second},
         {"minutes", report.minutes}});
    counters_ = {};
  }
  listener_.stepped(report);
}

void Trainer::log(const Json& line) {
  metrics_->write(line.dump());
  if (events_) events_->write(line);
}

void Trainer::validate() {
  if (!device_.on_host()) read_loss(loss_sum_);
  const Clock::time_point began = Clock::now();
  ValidationReport report;
  report.step = state_.step;
  {
    const ReplacedWeights averaged(parameters_, average_);
    static_cast<Validation&>(report) =
        task_->validate(state_.validations, [&](int64_t done, int64_t total) { listener_.validating(done, total); });
  }
  const double score = report.score.value_or(report.loss);
  const bool better = task_->higher_is_better() ? score > state_.best : score < state_.best;
  const bool equal = score == state_.best && report.loss < state_.best_loss;
  report.improved = state_.validations == 0 || better || equal;
  ++state_.validations;
  state_.validations_since_best = report.improved ? 0 : state_.validations_since_best + 1;
  if (report.improved) {
    state_.best = score;
    state_.best_loss = report.loss;
  }
  report.best = state_.best;
  report.metric = task_->metric();
  validated_at_ = state_.step;
  if (report.improved) save_weights(recipe_.folder, parameters_, average_ ? average_ : parameters_.values());
  Json line{{"event", "validation"}, {"step", report.step}, {"loss", report.loss}};
  if (report.score) line[task_->metric()] = *report.score;
  for (const auto& [name, value] : report.scores) line[name] = value;
  line["best"] = report.best;
  line["minutes"] = minutes();
  log(line);
  listener_.validated(report);
  if (schedule_.validated(report.improved)) {
    listener_.message(fmt::format("no improvement: reducing the learning rate to {:.3g}",
                                  schedule_.rate(state_.step + 1, fraction_done())));
  }
  save_checkpoint();
  counters_.since += Clock::now() - began;  // validation does not count for the training speed
}

double Trainer::minutes() const { return state_.minutes + seconds_since(began_) / 60; }

double Trainer::fraction_done() const {
  const TrainingConfig& t = recipe_.training;
  const Progress progress = task_->progress();
  const double epochs =
      static_cast<double>(progress.epoch) + static_cast<double>(progress.batch) / static_cast<double>(progress.batches);
  double fraction = 0;
  if (t.steps > 0) fraction = std::max(fraction, static_cast<double>(state_.step) / static_cast<double>(t.steps));
  if (t.epochs > 0) fraction = std::max(fraction, epochs / static_cast<double>(t.epochs));
  if (t.minutes > 0) fraction = std::max(fraction, minutes() / t.minutes);
  return std::min(fraction, 1.0);
}

std::string Trainer::reason_to_stop() const {
  const TrainingConfig& t = recipe_.training;
  const ValidationConfig& v = recipe_.validation;
  if (t.steps > 0 && state_.step >= t.steps) return fmt::format("reached {}", counted(t.steps, "step"));
  if (t.epochs > 0 && task_->progress().epoch >= t.epochs) return fmt::format("reached {}", counted(t.epochs, "epoch"));
  if (t.minutes > 0 && minutes() >= t.minutes) return fmt::format("reached the limit of {} min", t.minutes);
  if (v.patience > 0 && state_.validations_since_best >= v.patience)
    return fmt::format("no improvement in {}", counted(state_.validations_since_best, "validation"));
  if (v.goal > 0 && state_.validations > 0) {
    const bool reached = task_->higher_is_better() ? state_.best >= v.goal : state_.best <= v.goal;
    if (reached) return fmt::format("{} reached {:.4g}", task_->metric(), state_.best);
  }
  return "";
}

}  // namespace fovea
