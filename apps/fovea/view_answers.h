// fovea view for models of the task answer: questions about a passage.
#pragma once

#include <functional>

#include "attention/record.h"
#include "fovea/view_records.h"
#include "view/grid.h"
#include "view/terminal.h"

namespace fovea::app {

// The records of the questions about --passage.
void each_answered(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take);
// The question, the answer, and the passage with the answer marked, as text above a picture.
std::string answer_text(const AttentionRecord& record, const TerminalStyle& terminal);
// Marks the answer among the tokens of the passage with brackets, and puts it into the title.
void mark_answer(Grid& grid, const AttentionRecord& record);

}  // namespace fovea::app
