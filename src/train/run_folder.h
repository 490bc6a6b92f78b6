// The files of a run besides the model: recipe.toml, metrics.jsonl and checkpoint.safetensors.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>

#include "train/recipe.h"

namespace fovea {

std::string checkpoint_path(const std::string& folder);
std::string metrics_path(const std::string& folder);
void remove_run(const std::string& folder);  // only what a run writes

void save_recipe(const Recipe& recipe);
// The run that a recipe file belongs to, if it is the recipe.toml of one; otherwise empty.
std::string run_of_recipe(const std::string& path);
// Makes the saved recipe of a run valid in the working directory, wherever the run was started: its folder becomes
// `run`, and relative paths of its text are read from where training started. That is the run's folder without the part
// that the recipe itself names: /home/me/runs/dates with folder = "runs/dates" was started in /home/me.
void relocate(Recipe& recipe, const std::string& run);
// Error unless the recipe is the one the run began with, but for what may change on the way: how long to
// train, how to validate and report, and on how many threads.
void check_same_run(const Recipe& recipe);

// One JSON object a line.
class MetricsFile {
 public:
  // Goes on after the lines up to `step`; later ones belong to steps that will be made again.
  MetricsFile(const std::string& folder, int64_t step);
  void write(const std::string& json);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace fovea
