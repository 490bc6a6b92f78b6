// The data of a run of the task "answer": passages and questions that are read, vocabularies that are trained or loaded
// from the run's folder, and windows of passages, batch by batch. A passage of several windows gives two examples: the
// window in which the answer has most context, and one without the answer, whose target is "not in this window".
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "tasks/answer_input.h"
#include "tasks/answer_set.h"
#include "tasks/batch_rows.h"
#include "tasks/task.h"

namespace fovea {

struct AnswerBatch {
  SpanInput input;
  // i32 [B]: the rows of the first and last token of the answer in the logits; the number of rows if the window does
  // not have it.
  Tensor start, end;
  Tensor share;  // f32 [1]: 1 / examples of the whole batch
  int64_t examples = 0;
};

class AnswerData {
 public:
  // Vocabularies that are not known are trained.
  explicit AnswerData(const TaskSetup& setup);

  const std::shared_ptr<const Vocabulary>& vocabulary() const { return vocabulary_; }
  const std::shared_ptr<const Vocabulary>& characters() const { return characters_; }  // absent if none are read
  const std::vector<std::string>& messages() const { return messages_; }

  // As in SequenceData.
  void next();
  int64_t split(int64_t max_tokens) { return batch_.split(max_tokens); }
  int64_t part_tokens() const { return batch_.part_tokens(); }
  AnswerBatch part(int64_t index, Device device) const;
  int64_t batches() const { return batcher_->batches(); }
  Batcher::State state() const { return batcher_->state(); }
  void set_state(Batcher::State state) { batcher_->set_state(state); }

  // Batches of the validation windows that have the answer, for the loss.
  int64_t valid_examples() const { return std::ssize(valid_.examples); }
  AnswerBatch valid_batch(int64_t begin, int64_t end, Device device) const;
  const AnswerSet& valid_set() const { return valid_set_; }

 private:
  struct Span {
    int32_t first, last;  // tokens of the passage
  };
  struct Example {
    int32_t question;  // in the set
    int32_t begin, end;
    std::vector<Span> answers;  // one for each reference in the window; none: the window does not have the answer
  };
  // Questions of a set as tokens.
  struct Examples {
    std::vector<TokenisedText> passages;
    std::vector<int32_t> passage_of;  // of each question
    std::vector<TokenisedText> questions;
    std::vector<Example> examples;
    struct Skipped {
      int64_t no_token = 0, too_long = 0;
    } skipped;
  };
  void read(const Recipe& recipe, AnswerSet& train);
  void hold_out(AnswerSet& train, int64_t wanted);
  void train_vocabularies(const Recipe& recipe, const AnswerSet& train);
  Examples tokenise(const AnswerSet& set, bool with_negatives);
  void add_examples(Examples& to, const AnswerQuestion& question, int32_t index, bool with_negatives) const;
  void report(std::string_view name, const AnswerSet& set, const Examples& examples);
  void start_batches();
  AnswerBatch make(const Examples& examples, std::span<const int64_t> rows, int64_t epoch, Device device) const;

  AnswerConfig config_;
  BatchOptions options_;
  uint64_t seed_;
  AnswerSet valid_set_;
  std::shared_ptr<const Vocabulary> vocabulary_, characters_;
  Forms forms_;
  Examples train_, valid_;
  std::optional<AnswerInputBuilder> builder_;
  std::vector<int32_t> zeros_;  // stand for tokens: the batcher needs their number only
  std::vector<std::span<const int32_t>> passage_lengths_, question_lengths_;
  std::optional<Batcher> batcher_;
  BatchRows batch_;
  std::vector<std::string> messages_;
};

}  // namespace fovea
