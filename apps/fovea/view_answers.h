// fovea view for models of the task answer: questions about a passage.
#pragma once

#include <functional>

#include "attention/record.h"
#include "fovea/view_records.h"

namespace fovea::app {

// The records of the questions about --passage.
void each_answered(const ViewFlags& flags, const std::function<void(AttentionRecord&)>& take);

}  // namespace fovea::app
