#include "tasks/sequence_task.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "decode/ensemble.h"
#include "decode/shortlist.h"
#include "decode/translator.h"
#include "evaluate/validation_metrics.h"
#include "recipe/recipe.h"
#include "store/model_folder.h"
#include "tasks/sequence_data.h"
#include "tasks/sequence_loss.h"
#include "text/utf8.h"

namespace fovea {

namespace {

// BLEU is almost 0 where a Chinese sentence counts as one word.
std::string tokenizer_warning(const ValidationConfig& validation, const std::vector<std::string>& targets) {
  const std::string& tokenizer = validation.tokenizer;
  if (validation.metric != "bleu" || (tokenizer != "13a" && tokenizer != "none")) return "";
  const auto chinese = std::count_if(targets.begin(), targets.end(), has_han);
  if (2 * chinese <= std::ssize(targets)) return "";
  return fmt::format(
      "warning: validation.tokenizer = {} counts Chinese text without spaces as one word; use zh for Chinese targets",
      tokenizer);
}

class SequenceTask final : public Task, public HasExtendedRows {
 public:
  explicit SequenceTask(const TaskSetup& setup)
      : recipe_(setup.recipe), device_(setup.device), data_(setup), loss_(recipe_.training, recipe_.model.attention) {
    loaded_.config.task = recipe_.task;
    loaded_.config.source_words = data_.source()->size();
    loaded_.config.target_words = data_.target()->size();
    loaded_.config.end_source = recipe_.batch.end_source;
    loaded_.config.reverse_source = recipe_.batch.reverse_source;
    loaded_.config.split_identifiers = recipe_.data.split_identifiers;
    if (recipe_.data.filter.truncate) loaded_.config.max_source = recipe_.data.filter.max_source;
    loaded_.config.dialogue = recipe_.dialogue.format;
    loaded_.config.decoding.shortlist = recipe_.training.shortlist;
    loaded_.config.model = recipe_.model;
    check(!recipe_.training.shortlist || !recipe_.model.copies(),
          "training.shortlist: expected a model that does not copy words of its source, got model.copy = {}",
          recipe_.model.copy);
    loaded_.source = data_.source();
    loaded_.target = data_.target();
    loaded_.parameters = {std::shared_ptr<const Parameters>(), &setup.parameters};  // the trainer owns them
    loaded_.model = make_model(setup.parameters, recipe_.model, {data_.source()->size(), data_.target()->size()});
    const int64_t max_source = model().max_source(), max_target = model().max_target();
    data_.tokenise_valid(max_source > 0 ? max_source - (recipe_.batch.end_source ? 1 : 0) : 0,
                         max_target > 0 ? max_target - 1 : 0);
    messages_ = data_.messages();
    const std::string warning = tokenizer_warning(recipe_.validation, data_.valid_lines().target);
    if (!warning.empty()) messages_.push_back(warning);
  }

  const std::vector<std::string>& messages() const override { return messages_; }
  std::string description() const override { return recipe_.model.architecture; }
  const std::vector<ExtendedRows>& extended_rows() const override { return data_.extended_rows(); }
  void save_description(const std::string& folder) const override {
    save_model_description(folder, loaded_.config, *loaded_.source, *loaded_.target);
    if (!recipe_.training.shortlist) return;
    estimate_shortlist(data_.train(), *loaded_.source, *loaded_.target, {})
        .save(shortlist_path(folder), *loaded_.source, *loaded_.target);
  }

  Progress progress() const override {
    const Batcher::State state = data_.state();
    return {.epoch = state.epoch, .batch = state.next, .batches = data_.batches()};
  }
  void next_batch() override { data_.next(); }
  int64_t split(int64_t max_tokens) override { return data_.split(max_tokens); }
  int64_t part_tokens() const override { return data_.part_tokens(); }
  Part load_part(int64_t index) override {
    batch_ = data_.part(index, device_);
    alignment_ = data_.alignment(batch_, device_);
    return {.sizes = {batch_.source.dim(0), batch_.target_in.dim(0), batch_.source.dim(1)},
            .units = batch_.target_tokens};
  }
  TaskLoss loss() override {
    const KnownTargets targets = loss_.targets(batch_);
    return loss_(model().teacher_force(source_of(batch_), batch_.target_in, loss_.needs_weights(), {}, &targets),
                 batch_, alignment_);
  }

  std::map<std::string, double> state() const override { return stored_state(data_.state(), loss_); }
  void set_state(const std::map<std::string, double>& state) override { data_.set_state(restored_state(state, loss_)); }

  std::string metric() const override { return recipe_.validation.metric; }
  bool higher_is_better() const override { return fovea::higher_is_better(metric()); }
  Validation validate(int64_t number, const ValidationProgress& progress) override {
    Validation validation{.loss = mean_cross_entropy(model(), data_.valid(), recipe_.batch, device_, data_.copies())};
    if (metric() != "loss") decode(number, progress, validation);
    return validation;
  }

 private:
  const EncoderDecoder& model() const { return *loaded_.model; }
  void decode(int64_t number, const ValidationProgress& progress, Validation& validation);

  Recipe recipe_;
  Device device_;
  SequenceData data_;
  LoadedModel loaded_;  // the model that is trained
  std::vector<std::string> messages_;
  SequenceLoss loss_;
  Batch batch_;       // the loaded part
  Tensor alignment_;  // of the loaded part, [B,1,T,S]; empty without guided alignment
  // From the first validation that decodes.
  std::optional<Translator> translator_;
  std::vector<SharedLine> valid_sources_;
};

void SequenceTask::decode(int64_t number, const ValidationProgress& progress, Validation& validation) {
  const ParallelLines& lines = data_.valid_lines();
  if (!translator_) {
    BatchOptions batches = recipe_.batch;
    if (device_.on_host()) batches.tokens = batches.sentences = 0;  // decoding has a size of its own
    translator_.emplace(std::vector{loaded_}, RuntimeOptions{.device = device_,
                                                             .precision = product_precision(),
                                                             .batches = batches,
                                                             .max_source = std::numeric_limits<int64_t>::max()});
    const size_t all = lines.source.size(), wanted = static_cast<size_t>(recipe_.validation.sentences);
    valid_sources_ =
        translator_->tokenise_source(std::span(lines.source).first(wanted > 0 ? std::min(all, wanted) : all));
  }
  const int64_t count = std::ssize(valid_sources_);
  const auto translations =
      translator_->translate(valid_sources_, recipe_.validation.search, [&](int64_t done) { progress(done, count); });
  std::vector<Segment> segments;
  for (size_t i = 0; i < translations.size(); ++i) segments.push_back({translations[i].text(), {lines.target[i]}});
  validation.score = validation_score(metric(), segments, recipe_.validation.tokenizer);
  const auto example = static_cast<size_t>(number % count);
  validation.example_input = lines.source[example];
  validation.example_output = segments[example].hypothesis;
}

class SequencePredictor final : public Predictor {
 public:
  SequencePredictor(const std::string& folder, const PredictorOptions& options)
      : translator_({folder}, {.device = options.device, .precision = options.precision}) {}
  std::vector<std::string> predict(std::span<const std::string> inputs) const override {
    std::vector<std::string> outputs;
    for (const Translation& translation : translator_.translate(inputs, {})) outputs.push_back(translation.text());
    return outputs;
  }

 private:
  Translator translator_;
};

}  // namespace

std::unique_ptr<Task> make_sequence_task(const TaskSetup& setup) { return std::make_unique<SequenceTask>(setup); }

std::unique_ptr<Predictor> load_sequence_predictor(const std::string& folder, const PredictorOptions& options) {
  return std::make_unique<SequencePredictor>(folder, options);
}

}  // namespace fovea
