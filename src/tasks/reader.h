// Reading comprehension with a trained model: the answer to a question is a piece of the passage.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/record.h"
#include "tasks/task.h"

namespace fovea {

struct LoadedReader;  // tasks/answer_model.h

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
  explicit Reader(const std::string& folder, const PredictorOptions& options = {});
  // A model in memory, for instance one that is being trained: its weights are read anew at each call.
  Reader(LoadedReader loaded, Device device, Precision precision);

  // One reading for each question. `done` receives the number of finished questions, after each batch of windows; an
  // exception that it throws ends the work.
  std::vector<Reading> answer(std::span<const PassageQuestion> questions, const AnswerOptions& options = {},
                              const std::function<void(int64_t)>& done = {}) const;
  // A line of input is a passage, a tab and a question; the output is the text of the best answer.
  std::vector<std::string> predict(std::span<const std::string> inputs) const override;

  const LoadedReader& loaded() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

std::unique_ptr<Predictor> load_reader_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
