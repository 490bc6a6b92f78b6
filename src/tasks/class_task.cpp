#include "tasks/class_task.h"

#include <algorithm>
#include <cmath>

#include "evaluate/classification.h"
#include "evaluate/validation_metrics.h"
#include "ops/ops.h"

namespace fovea {

ClassTask::ClassTask(const TaskSetup& setup)
    : recipe_(setup.recipe),
      device_(setup.device),
      smoothing_(static_cast<float>(recipe_.training.label_smoothing)),
      penalty_(recipe_.classify.has("structured") ? static_cast<float>(recipe_.classify.penalty) : 0.0f) {
  loaded_.config.task = recipe_.task;
  loaded_.config.text = recipe_.classify.text;
  loaded_.config.classifier = recipe_.classify;
  loaded_.parameters = {std::shared_ptr<const Parameters>(), &setup.parameters};  // the trainer owns them
}

Progress ClassTask::progress() const {
  const Batcher::State state = position();
  return {.epoch = state.epoch, .batch = state.next, .batches = batches()};
}

TaskLoss ClassTask::loss() {
  const Classified result = (*loaded_.model)(batch_.source);
  const Var losses = cross_entropy(result.logits, batch_.labels, smoothing_);  // [B]
  Var all = losses;
  if (penalty_ > 0) all = all + affine(Pooling::penalty(result.weights), penalty_);
  return {.total = sum(all * Var(batch_.weights)), .sum = sum(losses)};
}

std::map<std::string, double> ClassTask::state() const {
  const Batcher::State data = position();
  return {{"epoch", static_cast<double>(data.epoch)}, {"next_batch", static_cast<double>(data.next)}};
}

void ClassTask::set_state(const std::map<std::string, double>& state) {
  set_position(
      {.epoch = static_cast<int64_t>(state.at("epoch")), .next = static_cast<int64_t>(state.at("next_batch"))});
}

bool ClassTask::higher_is_better() const { return fovea::higher_is_better(metric()); }

Validation ClassTask::validate(int64_t number, const ValidationProgress& progress) {
  const std::vector<float> log_probs = valid_log_probabilities(progress);
  const std::vector<std::string>& labels = labelled().labels();
  const std::vector<int32_t>& truths = labelled().valid_classes();
  std::vector<ClassOutcome> outcomes;
  double loss = 0;
  int64_t known = 0;
  for (size_t i = 0; i < truths.size(); ++i) {
    const float* of_example = log_probs.data() + i * labels.size();
    const auto best = std::max_element(of_example, of_example + labels.size());
    outcomes.push_back({truths[i], static_cast<int32_t>(best - of_example), std::exp(static_cast<double>(*best))});
    if (truths[i] == kUnseenClass) continue;
    loss -= static_cast<double>(of_example[truths[i]]);
    ++known;
  }
  const ClassificationReport report = classification_report(outcomes, labels);
  Validation validation{.loss = loss / static_cast<double>(std::max<int64_t>(1, known))};
  validation.scores = {{"accuracy", report.accuracy()}, {"macro-f1", report.macro_f1()}};
  if (metric() == "accuracy") validation.score = report.accuracy();
  if (metric() == "macro-f1") validation.score = report.macro_f1();
  const auto example = static_cast<size_t>(number % std::ssize(truths));
  validation.example_input = labelled().valid().texts[example];
  validation.example_output = labels[static_cast<size_t>(outcomes[example].predicted)];
  return validation;
}

}  // namespace fovea
