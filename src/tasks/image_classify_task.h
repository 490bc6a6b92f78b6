// The task "classify-images": a picture to one of several classes, learned from labelled pictures by cross-entropy.
#pragma once

#include "tasks/task.h"

namespace fovea {

std::unique_ptr<Task> make_image_classify_task(const TaskSetup& setup);

}  // namespace fovea
