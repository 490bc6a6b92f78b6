#include "train/train.h"

#include "train/trainer.h"

namespace fovea {

TrainingResult train(const Recipe& recipe, Start start, TrainingListener& listener, const std::atomic<bool>& interrupt,
                     const TaskEntry* task) {
  return Trainer(recipe, task != nullptr ? *task : task_named(recipe.task), start, listener).run(interrupt);
}

}  // namespace fovea
