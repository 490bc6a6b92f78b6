// Small models of the tasks besides translation, trained by the program: what they say is of no use, but they say it as
// any other does.
#pragma once

#include <string>

namespace fovea {

// Trains <folder>/reviews (classify), <folder>/reader (answer), <folder>/talk (dialogue) and <folder>/titles
// (summarise).
void train_task_models(const std::string& folder);

}  // namespace fovea
