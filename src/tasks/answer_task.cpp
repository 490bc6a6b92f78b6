#include "tasks/answer_task.h"

#include <algorithm>

#include "base/error.h"
#include "evaluate/answers.h"
#include "recipe/recipe.h"
#include "tasks/answer_data.h"
#include "tasks/answer_model.h"
#include "tasks/reader.h"
#include "tensor/arena.h"

namespace fovea {

namespace {

constexpr int64_t kValidationBatch = 16;  // windows

// The mean of the cross-entropies of start and end, for each example. The last logit, 0, is "not in this window".
Var span_loss(const SpanLogits& logits, const AnswerBatch& batch) {
  const auto cross_entropy_of = [](const Var& x, const Tensor& target) {
    const Var none(zeros({1, x.dim(1)}, x.dtype(), x.device()));
    return cross_entropy(permute(concat({x, none}, 0), {1, 0}), target);
  };
  return affine(cross_entropy_of(logits.start, batch.start) + cross_entropy_of(logits.end, batch.end), 0.5f);
}

class AnswerTask final : public Task {
 public:
  explicit AnswerTask(const TaskSetup& setup)
      : recipe_(setup.recipe),
        device_(setup.device),
        data_(setup),
        loaded_(make_reader(setup.parameters, recipe_.answer, recipe_.model, data_.vocabulary(), data_.characters())) {
    const std::vector<AnswerQuestion>& questions = data_.valid_set().questions;
    const auto all = questions.size(), wanted = static_cast<size_t>(recipe_.validation.sentences);
    for (size_t i = 0; i < (wanted > 0 ? std::min(all, wanted) : all); ++i) {
      const AnswerQuestion& question = questions[i];
      valid_.push_back({data_.valid_set().passages[static_cast<size_t>(question.passage)], question.question});
      Segment& segment = valid_segments_.emplace_back();
      for (const AnswerReference& reference : question.references) segment.references.push_back(reference.text);
      texts_.push_back(question.question);
    }
  }

  const std::vector<std::string>& messages() const override { return data_.messages(); }
  std::string description() const override { return recipe_.answer.interaction; }
  void save_description(const std::string& folder) const override { save_reader_description(folder, loaded_); }

  Progress progress() const override {
    const Batcher::State state = data_.state();
    return {.epoch = state.epoch, .batch = state.next, .batches = data_.batches()};
  }
  void next_batch() override { data_.next(); }
  int64_t split(int64_t max_tokens) override { return data_.split(max_tokens); }
  int64_t part_tokens() const override { return data_.part_tokens(); }
  Part load_part(int64_t index) override {
    batch_ = data_.part(index, device_);
    const SpanInput& input = batch_.input;
    return {.sizes = {input.passage.ids.dim(0), input.question.ids ? input.question.ids.dim(0) : 0, batch_.examples,
                      input.characters ? input.characters.dim(1) : 0},
            .units = batch_.examples};
  }
  TaskLoss loss() override {
    const Var sum = fovea::sum(span_loss((*loaded_.model)(batch_.input), batch_));
    return {.total = sum * Var(batch_.share), .sum = sum};
  }

  std::map<std::string, double> state() const override {
    const Batcher::State data = data_.state();
    return {{"epoch", static_cast<double>(data.epoch)}, {"next_batch", static_cast<double>(data.next)}};
  }
  void set_state(const std::map<std::string, double>& state) override {
    data_.set_state(
        {.epoch = static_cast<int64_t>(state.at("epoch")), .next = static_cast<int64_t>(state.at("next_batch"))});
  }

  std::string metric() const override { return recipe_.validation.metric; }
  bool higher_is_better() const override { return metric() != "loss"; }
  Validation validate(int64_t number, const ValidationProgress& progress) override {
    Validation validation;
    validation.loss = validation_loss();
    if (metric() != "loss") answer(number, progress, validation);
    return validation;
  }

 private:
  double validation_loss() const {
    Arena arena(device_);
    const ArenaScope scope(&arena);
    double total = 0;
    const int64_t count = data_.valid_examples();
    for (int64_t begin = 0; begin < count; begin += kValidationBatch) {
      const AnswerBatch batch = data_.valid_batch(begin, std::min(count, begin + kValidationBatch), device_);
      total +=
          static_cast<double>(to_host<float>(fovea::sum(span_loss((*loaded_.model)(batch.input), batch)).value())[0]);
      arena.rewind();
    }
    return total / static_cast<double>(count);
  }

  void answer(int64_t number, const ValidationProgress& progress, Validation& validation) {
    const Reader reader(loaded_, device_, product_precision());
    const auto count = std::ssize(valid_);
    const std::vector<Reading> readings = reader.answer(valid_, {}, [&](int64_t done) { progress(done, count); });
    for (size_t i = 0; i < readings.size(); ++i) valid_segments_[i].hypothesis = readings[i].answers.front().text;
    const AnswerScore score = answer_score(valid_segments_, answer_metrics_for(texts_));
    validation.score = metric() == "exact" ? score.exact : score.f1;
    const auto example = static_cast<size_t>(number % count);
    validation.example_input = valid_[example].question;
    validation.example_output = valid_segments_[example].hypothesis;
  }

  Recipe recipe_;
  Device device_;
  AnswerData data_;
  LoadedReader loaded_;  // the model that is trained
  AnswerBatch batch_;    // the loaded part
  std::vector<PassageQuestion> valid_;
  std::vector<Segment> valid_segments_;
  std::vector<std::string> texts_;  // the questions, by which the metrics are chosen
};

}  // namespace

std::unique_ptr<Task> make_answer_task(const TaskSetup& setup) { return std::make_unique<AnswerTask>(setup); }

}  // namespace fovea
