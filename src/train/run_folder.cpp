#include "train/run_folder.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "train/toml_fields.h"

namespace fovea {

namespace {

std::string recipe_path(const std::string& folder) { return folder + "/recipe.toml"; }

// Keys that may differ when a run goes on.
bool may_change(std::string_view key) {
  for (const std::string_view prefix : {"folder", "device", "threads", "report_every", "validation.", "training.epochs",
                                        "training.steps", "training.minutes", "training.checkpoint_minutes"}) {
    if (key.starts_with(prefix)) return true;
  }
  return false;
}

// A line that is torn or not ours has no place in a run that continues.
bool is_until(const std::string& line, int64_t step) {
  try {
    return parse_json(line, "metrics").value("step", int64_t{0}) <= step;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace

std::string checkpoint_path(const std::string& folder) { return folder + "/checkpoint.safetensors"; }
std::string metrics_path(const std::string& folder) { return folder + "/metrics.jsonl"; }

void remove_run(const std::string& folder) {
  for (const char* name : {"recipe.toml", "metrics.jsonl", "checkpoint.safetensors", "model.safetensors", "config.json",
                           "source.spm", "source.vocab", "target.spm", "target.vocab"}) {
    std::filesystem::remove(folder + "/" + name);
  }
}

void save_recipe(const Recipe& recipe) {
  write_file_atomically(recipe_path(recipe.folder), recipe_text(recipe, false));
}

void check_same_run(const Recipe& recipe) {
  Recipe before, now = recipe;
  Fields old_fields = fields_of(before);
  fields_from_toml(old_fields, recipe_path(recipe.folder));
  const Fields new_fields = fields_of(now);
  std::string differences;
  for (size_t i = 0; i < new_fields.list().size(); ++i) {
    const Field &was = old_fields.list()[i], &is = new_fields.list()[i];
    if (was.text() == is.text() || may_change(is.key())) continue;
    differences += fmt::format("\n  {}: {} then, {} now", is.key(), was.text(), is.text());
  }
  check(differences.empty(), "{}: expected the recipe this run began with, got changes:{}", recipe.folder, differences);
}

MetricsFile::MetricsFile(const std::string& folder, int64_t step) : path_(metrics_path(folder)) {
  if (std::filesystem::exists(path_)) {
    std::ifstream old(path_);
    std::string kept;
    for (std::string line; std::getline(old, line);) {
      if (is_until(line, step)) kept += line + "\n";
    }
    write_file_atomically(path_, kept);
  }
  file_.open(path_, std::ios::app);
  check(file_.good(), "{}: cannot open for writing", path_);
}

void MetricsFile::write(const std::string& json) {
  file_ << json << '\n' << std::flush;
  check(file_.good(), "{}: cannot write (is the disk full?)", path_);
}

}  // namespace fovea
