// The attention record of an answer: the window of the passage in which it was found, the question, and the attention
// between them.
#pragma once

#include "attention/record.h"
#include "tasks/answer_input.h"
#include "tasks/answer_model.h"

namespace fovea {

// `logits` are those of the window alone, with captured attention; `first_row` is that of its first token.
AttentionRecord answer_record(const LoadedReader& reader, const AnswerWindow& window, const std::string& question,
                              const SpanLogits& logits, int64_t first_row, const RecordAnswer& answer);

}  // namespace fovea
