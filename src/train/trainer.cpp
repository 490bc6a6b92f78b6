#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/thousands.h"
#include "base/threads.h"
#include "ops/ops.h"
#include "text/utf8.h"
#include "train/metrics.h"

namespace fovea {

namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecondsBetweenLines = 10;
constexpr double kSecondsBetweenLooks = 0.2;
constexpr double kAverageBegins = 10;  // the running average follows closely over the first steps

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

// While it lives, the parameters hold other values.
class InPlaceOf {
 public:
  InPlaceOf(const Parameters& parameters, const Tensor& other) : values_(parameters.values()) {
    if (!other) return;
    kept_ = empty(values_.shape(), values_.dtype(), values_.device());
    copy(values_, kept_);
    copy(other, values_);
    values_.contents_changed();
  }
  ~InPlaceOf() {
    if (!kept_) return;
    copy(kept_, values_);
    values_.contents_changed();
  }
  InPlaceOf(const InPlaceOf&) = delete;
  InPlaceOf& operator=(const InPlaceOf&) = delete;

 private:
  Tensor values_, kept_;
};

// BLEU is almost 0 where a Chinese sentence counts as one word.
std::string tokenizer_warning(const Recipe& recipe, const TrainingText& text) {
  const std::string& tokenizer = recipe.validation.tokenizer;
  const std::vector<std::string>& targets = text.valid_lines().target;
  if (recipe.validation.metric != "bleu" || (tokenizer != "13a" && tokenizer != "none")) return "";
  const auto chinese = std::count_if(targets.begin(), targets.end(), has_han);
  if (2 * chinese <= std::ssize(targets)) return "";
  return fmt::format(
      "warning: validation.tokenizer = {} counts Chinese text without spaces as one word; use zh for Chinese targets",
      tokenizer);
}

bool resumes(const Recipe& recipe, Start start) {
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
    : recipe_(recipe),
      listener_(listener),
      resumes_(resumes(recipe, start)),
      device_(device_named(recipe.device)),
      precision_(recipe.training.precision == "bf16" ? Precision::kBF16 : Precision::kF32),
      text_(recipe, resumes_ ? recipe.folder : ""),
      parameters_(device_),
      tape_(device_, static_cast<uint64_t>(recipe.seed)),
      graphs_(device_),
      schedule_(recipe.training),
      objective_(recipe.training, recipe.model.attention) {
  for (const std::string& text : text_.messages()) listener_.message(text);
  if (const std::string warning = tokenizer_warning(recipe, text_); !warning.empty()) listener_.message(warning);
  const FolderConfig folder{.source_words = text_.source().size(),
                            .target_words = text_.target().size(),
                            .end_source = recipe.batch.end_source,
                            .reverse_source = recipe.batch.reverse_source,
                            .model = recipe.model};
  model_ = make_model(parameters_, recipe.model, {folder.source_words, folder.target_words});
  parameters_.allocate(static_cast<uint64_t>(recipe.seed));
  optimiser_ = std::make_unique<Optimiser>(parameters_, optimiser_options(recipe.training));
  if (recipe.training.ema > 0) {
    average_ = empty(parameters_.values().shape(), parameters_.dtype(), device_);
    copy(parameters_.values(), average_);
  }
  loss_sum_ = zeros({1}, DType::kF32, device_);
  tape_.set_memory_limit(static_cast<size_t>(recipe.training.memory * 1e9));
  listener_.message(fmt::format("{}: {:.2f} million parameters on {}", recipe.model.architecture,
                                static_cast<double>(parameters_.count()) / 1e6, device_));
  if (resumes_) {
    load_checkpoint();
    listener_.message(fmt::format("resuming from step {}", thousands(progress_.step)));
  } else {
    if (start == Start::kResume)
      listener_.message(fmt::format("{}: nothing to resume; starting a new run", recipe.folder));
    save_model_description(recipe.folder, folder, text_.source(), text_.target());
  }
  save_recipe(recipe_);
  metrics_ = std::make_unique<MetricsFile>(recipe.folder, progress_.step);
}

TrainingResult Trainer::run(const std::atomic<bool>& interrupt) {
  const PrecisionScope precision(precision_);
  began_ = saved_ = counted_.from = Clock::now();
  std::string why = reason_to_stop();
  while (why.empty() && !interrupt) {
    train_step();
    report_step();
    const int64_t every = recipe_.validation.every;
    if (every > 0 ? progress_.step % every == 0 : epoch_ended_) validate();
    if (seconds_since(saved_) > recipe_.training.checkpoint_minutes * 60) save_checkpoint();
    why = reason_to_stop();
  }
  const bool interrupted = why.empty();
  if (!interrupted && validated_at_ != progress_.step && progress_.step > 0) validate();
  if (progress_.validations == 0) save_weights(recipe_.folder, parameters_, average_ ? average_ : parameters_.values());
  save_checkpoint();
  return {.steps = progress_.step,
          .best = progress_.validations > 0 ? std::optional(progress_.best) : std::nullopt,
          .minutes = progress_.minutes,
          .interrupted = interrupted,
          .why = interrupted ? "interrupted" : why};
}

void Trainer::train_step() {
  epoch_ended_ = false;
  ++progress_.step;
  rate_ = schedule_.rate(progress_.step, done());
  const int64_t batches = recipe_.training.accumulation;
  for (int64_t i = 0; i < batches; ++i) {
    const int64_t epoch = text_.state().epoch;
    text_.next(most_tokens_);
    epoch_ended_ = epoch_ended_ || text_.state().epoch != epoch;
    while (!work_on_batch(i == batches - 1)) {
    }
  }
  ++counted_.steps;
  update_average();
}

bool Trainer::work_on_batch(bool last_batch) {
  try {
    for (int64_t i = 0; i < text_.pieces(); ++i) {
      const bool last = last_batch && i == text_.pieces() - 1;
      tape_.reset();
      const Recording recording(tape_);
      const Batch piece = text_.piece(i, device_);
      const Tensor alignment = text_.alignment(piece, device_);
      if (last) optimiser_->prepare(static_cast<float>(rate_));
      parameters_.values().buffer()->refresh_derived();
      counted_.tokens += piece.target_tokens;
      graphs_.run({piece.source.dim(0), piece.target_in.dim(0), piece.source.dim(1), last ? 1 : 0}, tape_.generation(),
                  [&] {
                    work_on(piece, alignment, last);
                    return std::monostate();
                  });
    }
    return true;
  } catch (const OutOfMemory& error) {
    if (text_.pieces() == text_.pairs()) throw;
    take_smaller_pieces(error);
    return false;
  }
}

// Of a step of several batches, those before this one are lost: what they had brought cannot be told from the rest.
void Trainer::take_smaller_pieces(const OutOfMemory& error) {
  const int64_t before = text_.piece_tokens();
  most_tokens_ = std::max<int64_t>(1, before / 2);
  text_.divide(most_tokens_);
  tape_.reset();
  for (const Tensor& sum : {parameters_.grads(), loss_sum_}) zero_memory(device_, sum.raw(), sum.bytes());
  counted_ = {};
  listener_.message(fmt::format(
      "a batch of {} tokens does not fit into memory ({}); from now on batches are processed in parts of at "
      "most {} tokens, with the same result",
      thousands(before), error.what(), thousands(most_tokens_)));
}

void Trainer::work_on(const Batch& batch, const Tensor& alignment, bool last) {
  const TeacherForced forced =
      model_->teacher_force({batch.source, batch.source_lengths}, batch.target_in, objective_.needs_weights());
  const Objective::Loss loss = objective_(forced, batch, alignment);
  tape_.backward(affine(loss.total, 1.0f / static_cast<float>(recipe_.training.accumulation)));
  kernels(device_).affine(stream(device_),
                          {.x = loss.cross_entropy.value().reshape({1}), .y = loss_sum_, .accumulate = true});
  if (device_.on_host()) take_loss();
  if (last) optimiser_->apply();
}

void Trainer::take_loss() {
  const double sum = to_host<float>(loss_sum_)[0];
  zero_memory(device_, loss_sum_.raw(), loss_sum_.bytes());
  check(std::isfinite(sum),
        "training: the loss is not finite at step {}; the last checkpoint is unchanged. Try a lower "
        "training.learning_rate or training.clip_norm, or a longer training.warmup",
        progress_.step);
  counted_.loss += sum;
  counted_.with_loss = counted_.tokens;
  loss_taken_ = Clock::now();
}

void Trainer::update_average() {
  if (!average_) return;
  const auto t = static_cast<double>(progress_.step);
  const auto decay = static_cast<float>(std::min(recipe_.training.ema, (1 + t) / (kAverageBegins + t)));
  const KernelTable& k = kernels(device_);
  k.affine(stream(device_), {.x = average_, .y = average_, .alpha = decay});
  k.affine(stream(device_), {.x = parameters_.values(), .y = average_, .alpha = 1.0f - decay, .accumulate = true});
}

void Trainer::report_step() {
  const double seconds = seconds_since(counted_.from);
  const Batcher::State text = text_.state();
  const int64_t every = recipe_.report_every;
  const bool logged = every > 0 ? progress_.step % every == 0 : seconds >= kSecondsBetweenLines || epoch_ended_;
  // On a card to look at the loss is to wait for it, so it is looked at now and then.
  const bool looks = logged || counted_.with_loss == 0 || seconds_since(loss_taken_) >= kSecondsBetweenLooks;
  if (!device_.on_host() && looks) take_loss();
  StepReport report{.step = progress_.step,
                    .epoch = text.epoch,
                    .epoch_done = static_cast<double>(text.next) / static_cast<double>(text_.batches()),
                    .loss = counted_.loss / static_cast<double>(counted_.with_loss),
                    .learning_rate = rate_,
                    .tokens_per_second = static_cast<double>(counted_.tokens) / seconds,
                    .minutes = minutes(),
                    .minutes_left = done() > 0 ? minutes() * (1 - done()) / done() : -1,
                    .logged = logged};
  if (report.logged) {
    report.grad_norm = optimiser_->grad_norm();
    metrics_->write(Json{{"event", "train"},
                         {"step", report.step},
                         {"epoch", static_cast<double>(report.epoch) + report.epoch_done},
                         {"loss", report.loss},
                         {"learning_rate", report.learning_rate},
                         {"grad_norm", report.grad_norm},
                         {"tokens_per_second", report.tokens_per_second},
                         {"minutes", report.minutes}}
                        .dump());
    counted_ = {};
  }
  listener_.stepped(report);
}

void Trainer::validate() {
  if (!device_.on_host()) take_loss();
  const Clock::time_point began = Clock::now();
  ValidationReport report{.step = progress_.step};
  {
    const InPlaceOf averaged(parameters_, average_);
    report.loss = validation_loss();
    if (recipe_.validation.metric != "loss") decode_valid(report);
  }
  const double score = report.score.value_or(report.loss);
  const bool higher = higher_is_better(recipe_.validation.metric);
  const bool better = higher ? score > progress_.best : score < progress_.best;
  const bool equal = score == progress_.best && report.loss < progress_.best_loss;
  report.improved = progress_.validations == 0 || better || equal;
  ++progress_.validations;
  progress_.waited = report.improved ? 0 : progress_.waited + 1;
  if (report.improved) {
    progress_.best = score;
    progress_.best_loss = report.loss;
  }
  report.best = progress_.best;
  validated_at_ = progress_.step;
  if (report.improved) save_weights(recipe_.folder, parameters_, average_ ? average_ : parameters_.values());
  Json line{{"event", "validation"}, {"step", report.step}, {"loss", report.loss}};
  if (report.score) line[recipe_.validation.metric] = *report.score;
  line["best"] = report.best;
  line["minutes"] = minutes();
  metrics_->write(line.dump());
  listener_.validated(report);
  if (schedule_.validated(report.improved)) {
    listener_.message(fmt::format("no improvement: reducing the learning rate to {:.3g}",
                                  schedule_.rate(progress_.step + 1, done())));
  }
  save_checkpoint();
  counted_.from += Clock::now() - began;  // not a part of the training's speed
}

double Trainer::validation_loss() const {
  BatchOptions options = recipe_.batch;
  options.shuffle = false;
  Batcher batcher(text_.valid(), options);
  Arena arena(device_);
  const ArenaScope scope(&arena);
  double sum = 0;
  int64_t tokens = 0;
  for (int64_t i = 0; i < batcher.batches(); ++i) {
    const Batch batch = batcher.next(device_);
    sum +=
        cross_entropy_sum(model_->teacher_force({batch.source, batch.source_lengths}, batch.target_in).logits, batch);
    tokens += batch.target_tokens;
    arena.rewind();
  }
  return sum / static_cast<double>(tokens);
}

void Trainer::decode_valid(ValidationReport& report) const {
  const ParallelLines& lines = text_.valid_lines();
  const size_t all = lines.source.size();
  const size_t count =
      recipe_.validation.sentences > 0 ? std::min(all, static_cast<size_t>(recipe_.validation.sentences)) : all;
  const ParallelCorpus sources = encode_source(std::span(lines.source).first(count), text_.source());
  const EncoderDecoder* model = model_.get();
  const auto found = search({&model, 1}, sources, recipe_.batch, recipe_.validation.search, device_,
                            [&](int64_t done) { listener_.validating(done, static_cast<int64_t>(count)); });
  std::vector<Segment> segments;
  for (size_t i = 0; i < count; ++i) {
    segments.push_back({text_.target().decode(found[i].front().words), {lines.target[i]}});
  }
  report.score = validation_score(recipe_.validation.metric, segments, recipe_.validation.tokenizer);
  const size_t example = static_cast<size_t>(progress_.validations) % count;
  report.example_source = lines.source[example];
  report.example_target = segments[example].hypothesis;
}

double Trainer::minutes() const { return progress_.minutes + seconds_since(began_) / 60; }

double Trainer::done() const {
  const TrainingConfig& t = recipe_.training;
  const Batcher::State text = text_.state();
  const double epochs =
      static_cast<double>(text.epoch) + static_cast<double>(text.next) / static_cast<double>(text_.batches());
  double share = 0;
  if (t.steps > 0) share = std::max(share, static_cast<double>(progress_.step) / static_cast<double>(t.steps));
  if (t.epochs > 0) share = std::max(share, epochs / static_cast<double>(t.epochs));
  if (t.minutes > 0) share = std::max(share, minutes() / t.minutes);
  return std::min(share, 1.0);
}

std::string Trainer::reason_to_stop() const {
  const TrainingConfig& t = recipe_.training;
  const ValidationConfig& v = recipe_.validation;
  if (t.steps > 0 && progress_.step >= t.steps) return fmt::format("reached {}", counted(t.steps, "step"));
  if (t.epochs > 0 && text_.state().epoch >= t.epochs) return fmt::format("reached {}", counted(t.epochs, "epoch"));
  if (t.minutes > 0 && minutes() >= t.minutes) return fmt::format("reached the limit of {} min", t.minutes);
  if (v.patience > 0 && progress_.waited >= v.patience)
    return fmt::format("no improvement in {}", counted(progress_.waited, "validation"));
  if (v.goal > 0 && progress_.validations > 0) {
    const bool reached = higher_is_better(v.metric) ? progress_.best >= v.goal : progress_.best <= v.goal;
    if (reached) return fmt::format("{} reached {:.4g}", v.metric, progress_.best);
  }
  return "";
}

}  // namespace fovea
