#include "store/shipped.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "base/fields.h"
#include "base/files.h"
#include "base/json.h"
#include "store/model_folder.h"
#include "text/utf8.h"

namespace fovea {

namespace {

namespace fs = std::filesystem;

std::vector<fs::path>& added_folders() {
  static std::vector<fs::path> folders;
  return folders;
}

// Searched in the working directory, then in the added folders, then beside the program.
std::vector<fs::path> beside(const fs::path& folder) {
  std::vector<fs::path> all{folder};
  for (const fs::path& added : added_folders()) all.push_back(added / folder);
  std::error_code code;
  const fs::path program = fs::read_symlink("/proc/self/exe", code).parent_path();
  if (!code) {
    all.push_back(program / "../share/fovea" / folder);  // bin/fovea
    all.push_back(program / "../.." / folder);           // build/release/fovea
  }
  return all;
}

std::vector<fs::path> model_places() {
  std::vector<fs::path> all;
  if (const char* named = std::getenv("FOVEA_MODELS")) {
    for (std::string_view left = named; !left.empty();) {
      const size_t colon = std::min(left.find(':'), left.size());
      if (colon > 0) all.emplace_back(left.substr(0, colon));
      left.remove_prefix(std::min(colon + 1, left.size()));
    }
  }
  for (fs::path& place : beside("models")) all.push_back(std::move(place));
  return all;
}

std::string name_of(const std::string& folder) { return fs::path(folder).filename().string(); }

}  // namespace

void add_shipped_folder(const std::string& folder) { added_folders().emplace_back(folder); }

bool is_model_folder(const std::string& path) {
  std::error_code code;
  return fs::exists(fs::path(path) / "config.json", code) && fs::exists(fs::path(path) / "model.safetensors", code);
}

bool is_shipped_model(const std::string& name) {
  const std::vector<std::string> all = shipped_models();
  return std::any_of(all.begin(), all.end(), [&](const std::string& folder) { return name_of(folder) == name; });
}

std::vector<std::string> shipped_models() {
  std::vector<std::string> found;
  for (const fs::path& place : model_places()) {
    std::error_code code;
    for (const fs::directory_entry& entry : fs::directory_iterator(place, code)) {
      if (!is_model_folder(entry.path().string())) continue;
      const std::string folder = entry.path().lexically_normal().string();
      const auto same = [&](const std::string& other) { return name_of(other) == name_of(folder); };
      if (std::none_of(found.begin(), found.end(), same)) found.push_back(folder);
    }
  }
  std::sort(found.begin(), found.end(),
            [](const std::string& a, const std::string& b) { return name_of(a) < name_of(b); });
  return found;
}

std::vector<std::string> model_search_path() {
  std::vector<std::string> folders;
  for (const fs::path& place : model_places()) folders.push_back(place.lexically_normal().string());
  return folders;
}

std::string find_model(const std::string& name) {
  std::error_code code;
  if (fs::exists(name, code) || name.find('/') != std::string::npos) return name;
  const std::vector<std::string> all = shipped_models();
  for (const std::string& folder : all) {
    if (name_of(folder) == name) return folder;
  }
  std::vector<std::string> names;
  for (const std::string& folder : all) names.push_back(name_of(folder));
  const std::string near = nearest_spelling(name, names);
  fail("{}: there is no such model folder{}{}", name, near.empty() ? "." : fmt::format("; did you mean {}?", near),
       names.empty() ? "" : fmt::format(" Models by name: {}", fmt::join(names, ", ")));
}

std::string find_recipe(const std::string& name) {
  std::error_code code;
  if (fs::exists(fs::path(name) / "recipe.toml", code)) return (fs::path(name) / "recipe.toml").string();  // of a run
  if (fs::is_regular_file(name, code)) return name;
  check(!fs::is_directory(name, code) || name.find('/') == std::string::npos,
        "{}: expected a recipe or the folder of a training run, got a folder without recipe.toml", name);
  if (name.find('/') != std::string::npos) return name;
  std::set<std::string> names;
  for (const fs::path& place : beside("recipes")) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place, code)) {
      if (entry.path().extension() != ".toml") continue;
      if (entry.path().stem() == name || entry.path().filename() == name) {
        return entry.path().lexically_normal().string();
      }
      names.insert(entry.path().stem().string());
    }
  }
  const std::string near = nearest_spelling(name, {names.begin(), names.end()});
  fail("{}: there is no such recipe{}{}", name, near.empty() ? "." : fmt::format("; did you mean {}?", near),
       names.empty() ? "" : fmt::format(" Recipes by name: {}", fmt::join(names, ", ")));
}

std::string model_for(std::string_view text) {
  const std::string name = has_han(text) ? "zh-en" : "en-zh";
  for (const std::string& folder : shipped_models()) {
    if (name_of(folder) == name) return folder;
  }
  fail("expected --model: the default model {} was not found; set FOVEA_MODELS to the folder with your models", name);
}

std::string source_language(const std::string& folder) {
  const std::string about = folder + "/about.json";
  if (!fs::exists(about)) return "";
  const Json json = parse_json(read_file(about), about);
  const auto found = json.find("source_language");  // none in what is no object
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

std::string model_of_task(std::string_view task, std::string_view text) {
  std::string found;
  for (const std::string& folder : shipped_models()) {
    if (task_of_model(folder) != task) continue;
    const bool chinese = source_language(folder) == "zh";
    if (found.empty() || chinese == has_han(text)) found = folder;
    if (chinese == has_han(text)) break;
  }
  check(!found.empty(),
        "expected --model: no model of the task {} was found; set FOVEA_MODELS to the folder with your models", task);
  return found;
}

}  // namespace fovea
