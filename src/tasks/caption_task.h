// Learns to describe pictures: a convolutional encoder and any decoder (Show, Attend and Tell: Xu et al. 2015).
#pragma once

#include <memory>

#include "tasks/task.h"

namespace fovea {

std::unique_ptr<Task> make_caption_task(const TaskSetup& setup);

}  // namespace fovea
