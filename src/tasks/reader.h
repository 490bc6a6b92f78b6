// Reading comprehension with a trained model: the answer to a question is a piece of the passage.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/record.h"
#include "ops/ops.h"
#include "tasks/answer_input.h"
#include "tasks/answer_model.h"
#include "tasks/answer_spans.h"
#include "tasks/task.h"

namespace fovea {

struct PassageQuestion {
  std::string passage, question;
};

struct Answer {
  std::string text;            // the passage from begin_byte to end_byte; empty if passage or question has no token
  int64_t begin = 0, end = 0;  // in code points of the passage
  int64_t begin_byte = 0, end_byte = 0;
  double probability = 0;
};

struct Reading {
  std::vector<Answer> answers;      // at least one, best first; they do not overlap
  int64_t windows = 1;              // in which the passage was read
  bool question_truncated = false;  // the question was longer than answer.max_question
  std::optional<AttentionRecord> record;
};

struct AnswerOptions {
  int64_t nbest = 1;
  bool capture_weights = false;  // whether a Reading has a record, of the window with the best answer
};

// Several threads may use a Reader at the same time.
class Reader final : public Predictor {
 public:
  Reader(const std::string& folder, const PredictorOptions& options);
  // A model in memory, for instance one that is being trained: its weights are read anew at each call.
  Reader(LoadedReader loaded, Device device, Precision precision);

  // One reading for each question. `done` receives the number of finished questions, after each batch of windows; an
  // exception that it throws ends the work.
  std::vector<Reading> answer(std::span<const PassageQuestion> questions, const AnswerOptions& options = {},
                              const std::function<void(int64_t)>& done = {}) const;
  // A line of input is a passage, a tab and a question; the output is the text of the best answer.
  std::vector<std::string> predict(std::span<const std::string> inputs) const override;

  const LoadedReader& loaded() const { return loaded_; }

 private:
  struct Tokenised;
  std::vector<Reading> answer_group(std::span<const PassageQuestion> questions, const AnswerOptions& options,
                                    const std::function<void()>& after_batch) const;
  void run_windows(std::span<Tokenised> questions, const Forms& forms, const std::function<void()>& after_batch) const;
  Reading reading_of(const Tokenised& question, const Forms& forms, const AnswerOptions& options) const;
  AttentionRecord record_of(const Tokenised& question, const Forms& forms, const AnswerWindow& window,
                            const Answer& answer) const;

  LoadedReader loaded_;
  Device device_;
  Precision precision_;
  AnswerTokeniser tokeniser_;
  AnswerInputBuilder builder_;
};

std::unique_ptr<Predictor> load_reader_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
