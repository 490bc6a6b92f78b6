// The folder of a training run: its file names besides those of the model, and its saved recipe.
#pragma once

#include <string>

#include "recipe/recipe.h"

namespace fovea {

std::string checkpoint_path(const std::string& folder);
std::string metrics_path(const std::string& folder);
void remove_run(const std::string& folder);  // deletes only files that a run writes

void save_recipe(const Recipe& recipe);
// The folder of the run whose recipe.toml the file is; empty for any other recipe file.
std::string run_of_recipe(const std::string& path);
// Makes the saved recipe of a run valid in the working directory, wherever the run was started: its folder becomes
// `run`, and relative paths of its data are resolved against the directory in which training was started. That is the
// run's folder without the part that the recipe names: /home/me/runs/dates with folder = "runs/dates" was started in
// /home/me.
void relocate(Recipe& recipe, const std::string& run);
// Error unless the recipe is the one that the run was started with. Some settings may change: how long to train, how to
// validate and report, the device and the number of threads.
void check_same_run(const Recipe& recipe);

}  // namespace fovea
