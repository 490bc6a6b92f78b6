// fovea info: the description of a model folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "base/thousands.h"
#include "fovea/commands.h"
#include "store/model_folder.h"
#include "store/shipped.h"
#include "tasks/answer_model.h"

namespace fovea::app {

namespace {

// The settings of a model that have an effect, and its tensors.
void print_details(const Fields& fields, const Parameters& parameters, bool tensors) {
  for (const Field& field : fields.list()) {
    const bool setting = field.key().starts_with("model.") || field.key().starts_with("answer.");
    if (setting && field.why_unused().empty()) fmt::print("  {} = {}\n", field.key(), field.text());
  }
  if (!tensors) return;
  for (const Parameter& p : parameters.list()) fmt::print("  {} {}\n", p.name(), p.shape());
}

int reader_info(const std::string& folder, bool tensors) {
  LoadedReader loaded = load_reader(folder, Device::cpu());
  fmt::print("{}: {}, answers questions about a passage, {} parameters, {:.1f} MB\n", folder,
             loaded.config.answer.interaction, thousands(loaded.parameters->count()),
             static_cast<double>(std::filesystem::file_size(folder + "/model.safetensors")) / 1e6);
  fmt::print("vocabulary: {} {} tokens\n", thousands(loaded.vocabulary->size()), loaded.vocabulary->kind());
  if (loaded.characters) fmt::print("characters: {}\n", thousands(loaded.characters->size()));
  for (const AttentionInfo& a : loaded.model->attentions()) {
    fmt::print("{} attention: {}, {}\n", name_of(a.kind), a.config.mechanism(), counted(a.layers, "layer"));
  }
  print_details(fields_of(loaded.config), *loaded.parameters, tensors);
  return kDone;
}

int info(const std::string& given, bool tensors) {
  if (given.empty()) {
    const std::vector<std::string> models = shipped_models();
    for (const std::string& model : models) fmt::print("{}\n", model);
    if (models.empty()) {
      fmt::print(stderr, "no models found in {}; set FOVEA_MODELS to the folder with your models\n",
                 fmt::join(model_search_path(), ", "));
    }
    return kDone;
  }
  const std::string folder = find_model(given);
  if (task_of_model(folder) == "answer") return reader_info(folder, tensors);
  LoadedModel loaded = load_model(folder, Device::cpu());
  fmt::print("{}: {}, {} parameters, {:.1f} MB\n", folder, loaded.config.model.architecture,
             thousands(loaded.parameters->count()),
             static_cast<double>(std::filesystem::file_size(folder + "/model.safetensors")) / 1e6);
  const auto side = [](std::string_view name, const Vocabulary& v) {
    fmt::print("{} vocabulary: {} {} tokens\n", name, thousands(v.size()), v.kind());
  };
  side("source", *loaded.source);
  side("target", *loaded.target);
  for (const AttentionInfo& a : loaded.model->attentions()) {
    fmt::print("{} attention: {}, {}\n", name_of(a.kind), a.config.mechanism(), counted(a.layers, "layer"));
  }
  const auto limit = [](std::string_view name, int64_t tokens) {
    if (tokens > 0) fmt::print("maximum {} length: {} tokens\n", name, thousands(tokens));
  };
  limit("source", loaded.model->max_source());
  limit("target", loaded.model->max_target());
  print_details(fields_of(loaded.config), *loaded.parameters, tensors);
  return kDone;
}

}  // namespace

void add_info(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("info", "Describe a model; without a name, list the shipped models.");
  const auto folder = std::make_shared<std::string>();
  const auto tensors = std::make_shared<bool>(false);
  command->add_option("folder", *folder, "A model folder or the name of a shipped model.")->type_name("DIR");
  command->add_flag("--tensors", *tensors, "Also list its tensors.");
  command->callback([folder, tensors, &run] { run = [folder, tensors] { return info(*folder, *tensors); }; });
}

}  // namespace fovea::app
