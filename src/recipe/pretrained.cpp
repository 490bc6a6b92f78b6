#include "recipe/pretrained.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "models/architectures.h"
#include "store/json_fields.h"
#include "store/model_folder.h"
#include "store/shipped.h"
#include "store/vision_weights.h"

namespace fovea {

namespace {

// The keys of config.json and those of recipes; a section ends with a point. Only the first describes a model of any
// task.
constexpr std::pair<std::string_view, std::string_view> kAdopted[] = {{"model.", "model."},
                                                                      {"vision.", "vision."},
                                                                      {"answer.", "answer."},
                                                                      {"classifier.", "classify."},
                                                                      {"dialogue.", "dialogue."},
                                                                      {"reverse_source", "batch.reverse_source"},
                                                                      {"split_identifiers", "data.split_identifiers"}};

// The key of a recipe; empty for keys that are not taken over.
std::string recipe_key(const std::string& key, bool same_task) {
  for (const auto& [theirs, ours] : kAdopted) {
    const bool section = theirs.ends_with('.');
    if (section ? key.starts_with(theirs) : key == theirs) return std::string(ours) + key.substr(theirs.size());
    if (!same_task) break;
  }
  return "";
}

// A recipe that describes the model of a folder; `keys` receives those that the folder describes.
Recipe described_by(const std::string& folder, const std::string& task, std::set<std::string>& keys) {
  const std::string config = folder + "/config.json", theirs = task_of_model(folder);
  Recipe recipe;
  Fields fields = fields_of(recipe);
  fields_from_json(fields, read_file(config), config, [&](const std::string& key) {
    const std::string ours = recipe_key(key, theirs == task);
    if (!ours.empty()) keys.insert(ours);
    return ours;
  });
  // Where an encoder goes on with another task, the architecture does not choose it.
  if (theirs != task && recipe.model.encoder.empty()) {
    recipe.model.encoder = encoder_of(recipe.model).name;
    keys.insert("model.encoder");
  }
  const std::string network = network_weights_path(folder);
  if (keys.contains("vision.weights") && std::filesystem::exists(network)) recipe.vision.weights = network;
  return recipe;
}

bool is_dropout(std::string_view key) { return key.ends_with("dropout"); }

}  // namespace

void adopt_pretrained(Recipe& recipe, const std::function<bool(std::string_view key)>& is_named,
                      std::vector<std::string>* warnings) {
  const std::string& name = recipe.training.pretrained;
  const std::string folder = find_model(name);
  std::set<std::string> keys;
  Recipe theirs = described_by(folder, recipe.task, keys), defaults;
  const Fields of_folder = fields_of(theirs), of_defaults = fields_of(defaults);
  Fields ours = fields_of(recipe);
  for (size_t i = 0; i < ours.list().size(); ++i) {
    const Field &field = ours.list()[i], &other = of_folder.list()[i];
    if (keys.contains(field.key()) && !is_named(field.key())) ours.find(field.key()).set(other.value());
  }
  const Fields adopted = fields_of(recipe);  // whether a setting has an effect depends on the others
  for (size_t i = 0; i < ours.list().size(); ++i) {
    const Field &field = adopted.list()[i], &other = of_folder.list()[i];
    if (!keys.contains(field.key())) continue;
    const bool used = field.why_unused().empty();
    if (!is_named(field.key())) {
      if (!used) ours.find(field.key()).set(of_defaults.list()[i].value());
    } else if (used && warnings != nullptr && field.text() != other.text() && !is_dropout(field.key())) {
      warnings->push_back(
          fmt::format("training.pretrained = {}: {} is {} and was {} in it; parameters that differ "
                      "start anew",
                      name, field.key(), field.text(), other.text()));
    }
  }
}

}  // namespace fovea
