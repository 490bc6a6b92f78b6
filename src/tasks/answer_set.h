// Passages with questions and answers, read from files: SQuAD's JSON ({"data": [{"paragraphs": [{"context", "qas":
// [{"id", "question", "answers": [{"text", "answer_start"}]}]}]}]}), or JSON lines ({"id", "context", "question",
// "answers": [{"text", "start"}]}). Positions are code points. Plain or gzip.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace fovea {

struct AnswerReference {
  std::string text;
  int64_t begin_byte = 0;
};

struct AnswerQuestion {
  std::string id, question;
  int64_t passage = 0;  // its index in the set
  std::vector<AnswerReference> references;
};

struct AnswerSet {
  std::vector<std::string> passages;
  std::vector<AnswerQuestion> questions;
  std::vector<std::string> messages;  // warnings about questions and answers that were left out
};

// Errors name the file and the line, or the id of a question. A reference that is not at its position, and a question
// without any reference, are left out with a warning.
AnswerSet read_answer_set(std::span<const std::string> files);

// One line of questions to answer.
struct QuestionLine {
  Json id;  // null if there is none; any JSON, which is carried through
  std::string passage, question;
};
// {"context" or "passage", "question", "id"?}. Throws an Error that starts with `place`.
QuestionLine parse_question_line(std::string_view line, std::string_view place);

// The longest line of JSON that is read, in bytes.
inline constexpr size_t kMaxJsonLine = size_t{64} << 20;

}  // namespace fovea
