// Which settings of a recipe have an effect for its task.
#pragma once

#include <string>
#include <vector>

#include "recipe/recipe.h"

namespace fovea {

// The metrics by which models of a task can be validated; all of them for a task that only the calling program knows.
std::vector<std::string> metrics_of_task(std::string_view task);
std::vector<std::string> all_metric_names();

// Marks the settings that have no effect for the recipe's task.
void limit_to_task(Fields& fields, const Recipe& recipe);

}  // namespace fovea
