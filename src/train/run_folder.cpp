#include "train/run_folder.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "train/toml_fields.h"

namespace fovea {

namespace {

namespace fs = std::filesystem;

std::string recipe_path(const std::string& folder) { return folder + "/recipe.toml"; }

template <class Change> void change_paths(DataConfig& data, const Change& change) {
  for (std::vector<std::string>* list : {&data.train, &data.valid}) {
    for (std::string& path : *list) path = change(path);
  }
  if (!data.alignment.empty()) data.alignment = change(data.alignment);
}

std::string absolute_path(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// A folder whose name alone does not say where the working directory was.
bool is_elsewhere(const fs::path& folder) { return folder.is_absolute() || *folder.begin() == ".."; }

// Where a run was started; empty if that is not known.
fs::path start_of(const fs::path& run, const fs::path& named) {
  if (is_elsewhere(named)) return {};
  fs::path start = run;
  for (fs::path rest = named; !rest.empty(); rest = rest.parent_path()) {
    if (start.filename() != rest.filename()) return {};
    start = start.parent_path();
  }
  return start;
}

// Keys that may differ when a run is resumed.
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
  Recipe saved = recipe;
  if (is_elsewhere(fs::path(saved.folder).lexically_normal())) change_paths(saved.data, absolute_path);
  write_file_atomically(recipe_path(recipe.folder), recipe_text(saved, false));
}

std::string run_of_recipe(const std::string& path) {
  const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : ".";
  const bool saved = fs::path(path).filename() == "recipe.toml" && fs::exists(metrics_path(folder.string()));
  return saved ? folder.string() : "";
}

void relocate(Recipe& recipe, const std::string& run) {
  fs::path named = fs::path(recipe.folder).lexically_normal();
  if (!named.has_filename()) named = named.parent_path();  // "runs/dates/"
  const fs::path start = named.empty() ? fs::path() : start_of(fs::canonical(run), named);
  recipe.folder = run;
  if (start.empty() || start == fs::current_path()) return;
  change_paths(recipe.data, [&](const std::string& path) { return (start / path).string(); });
}

void check_same_run(const Recipe& recipe) {
  Recipe before, now = recipe;
  Fields old_fields = fields_of(before);
  fields_from_toml(old_fields, recipe_path(recipe.folder));
  relocate(before, recipe.folder);
  change_paths(before.data, absolute_path);
  change_paths(now.data, absolute_path);
  const Fields new_fields = fields_of(now);
  std::string differences;
  for (size_t i = 0; i < new_fields.list().size(); ++i) {
    const Field &was = old_fields.list()[i], &is = new_fields.list()[i];
    if (was.text() == is.text() || may_change(is.key())) continue;
    differences += fmt::format("\n  {} was {} and is now {}", is.key(), was.text(), is.text());
  }
  check(differences.empty(), "{}: cannot resume with a different recipe:{}", recipe.folder, differences);
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
