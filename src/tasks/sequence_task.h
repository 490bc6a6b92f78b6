// The tasks "sequence", "summarise" and "dialogue": text to text, by any architecture that decodes. It learns from
// parallel text with teacher forcing and is validated by its loss or by decoding the validation text.
#pragma once

#include "tasks/task.h"

namespace fovea {

std::unique_ptr<Task> make_sequence_task(const TaskSetup& setup);
std::unique_ptr<Predictor> load_sequence_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
