// The task "answer": reading comprehension. A model learns which piece of a passage answers a question; it is validated
// by its loss or by exact match and F1 of its answers.
#pragma once

#include "tasks/task.h"

namespace fovea {

std::unique_ptr<Task> make_answer_task(const TaskSetup& setup);

}  // namespace fovea
