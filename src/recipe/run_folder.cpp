#include "recipe/run_folder.h"

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "recipe/toml_fields.h"

namespace fovea {

namespace {

namespace fs = std::filesystem;

std::string recipe_path(const std::string& folder) { return folder + "/recipe.toml"; }

template <class Change> void change_paths(DataConfig& data, const Change& change) {
  for (std::vector<std::string>* list : {&data.train, &data.valid}) {
    for (std::string& path : *list) path = change(path);
  }
  for (std::string* path : {&data.alignment, &data.embeddings}) {
    if (!path->empty()) *path = change(*path);
  }
}

std::string absolute_path(const std::string& path) { return fs::absolute(path).lexically_normal().string(); }

// Whether the path does not tell in which directory the run was started.
bool is_outside(const fs::path& folder) { return folder.is_absolute() || *folder.begin() == ".."; }

// The directory in which a run was started; empty if it is not known.
fs::path start_directory(const fs::path& run, const fs::path& named) {
  if (is_outside(named)) return {};
  fs::path start = run;
  for (fs::path rest = named; !rest.empty(); rest = rest.parent_path()) {
    if (start.filename() != rest.filename()) return {};
    start = start.parent_path();
  }
  return start;
}

// Keys that may differ when a run is resumed.
bool may_change(std::string_view key) {
  for (const std::string_view prefix :
       {"folder", "device", "threads", "report_every", "validation.", "training.tensorboard", "training.epochs",
        "training.steps", "training.minutes", "training.checkpoint_minutes"}) {
    if (key.starts_with(prefix)) return true;
  }
  return false;
}

}  // namespace

std::string checkpoint_path(const std::string& folder) { return folder + "/checkpoint.safetensors"; }
std::string metrics_path(const std::string& folder) { return folder + "/metrics.jsonl"; }

void remove_run(const std::string& folder) {
  for (const char* name : {"recipe.toml", "metrics.jsonl", "checkpoint.safetensors", "model.safetensors", "config.json",
                           "source.spm", "source.vocab", "target.spm", "target.vocab", "characters.vocab"}) {
    std::filesystem::remove(folder + "/" + name);
  }
  std::error_code code;
  std::vector<fs::path> events;  // of TensorBoard
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code)) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) events.push_back(entry.path());
  }
  for (const fs::path& path : events) fs::remove(path);
}

void save_recipe(const Recipe& recipe) {
  Recipe saved = recipe;
  if (is_outside(fs::path(saved.folder).lexically_normal())) change_paths(saved.data, absolute_path);
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
  const fs::path start = named.empty() ? fs::path() : start_directory(fs::canonical(run), named);
  recipe.folder = run;
  if (start.empty() || start == fs::current_path()) return;
  change_paths(recipe.data, [&](const std::string& path) { return (start / path).string(); });
}

void check_same_run(const Recipe& recipe) {
  Recipe before, now = recipe;
  before.task = recipe.task;  // so that the name is valid even if only the calling program knows it
  Fields old_fields = fields_of(before);
  before.task = Recipe().task;  // the default, if an earlier version has written the file
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

}  // namespace fovea
