// The task "classify": text to one of several classes, learned from labelled texts by cross-entropy.
#pragma once

#include "tasks/task.h"

namespace fovea {

std::unique_ptr<Task> make_classify_task(const TaskSetup& setup);

}  // namespace fovea
