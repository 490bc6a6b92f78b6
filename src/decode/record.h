// The attention record of a hypothesis.
#pragma once

#include <string>

#include "attention/record.h"
#include "decode/search.h"
#include "store/model_folder.h"

namespace fovea {

// `most_source` tokens of the line were read.
AttentionRecord make_record(const LoadedModel& model, const std::string& line, const Hypothesis& hypothesis,
                            int64_t most_source);

}  // namespace fovea
