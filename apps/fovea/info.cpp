// fovea info: the description of a model folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>

#include "base/thousands.h"
#include "decode/options.h"
#include "decode/shortlist.h"
#include "fovea/commands.h"
#include "kernels/cpu/cpu.h"
#include "store/caption_folder.h"
#include "store/classifier_folder.h"
#include "store/model_folder.h"
#include "store/shipped.h"
#include "tasks/answer_model.h"

namespace fovea::app {

namespace {

void print_size(const std::string& folder, std::string_view what, const Parameters& parameters) {
  fmt::print("{}: {}, {} parameters, {:.1f} MB\n", folder, what, thousands(parameters.count()),
             static_cast<double>(std::filesystem::file_size(weights_file(folder))) / 1e6);
}

void print_vocabulary(std::string_view side, const Vocabulary& v) {
  fmt::print("{} vocabulary: {} {} tokens\n", side, thousands(v.size()), v.kind());
}

void print_attentions(const Model& model) {
  for (const AttentionInfo& a : model.attentions()) {
    fmt::print("{} attention: {}, {}\n", name_of(a.kind), a.config.mechanism(), counted(a.layers, "layer"));
  }
}

void print_limit(std::string_view side, int64_t tokens) {
  if (tokens > 0) fmt::print("maximum {} length: {} tokens\n", side, thousands(tokens));
}

// The settings of these sections that have an effect.
void print_settings(const Fields& fields, std::initializer_list<std::string_view> sections) {
  for (const Field& field : fields.list()) {
    for (const std::string_view section : sections) {
      if (field.key().starts_with(section) && field.why_unused().empty())
        fmt::print("  {} = {}\n", field.key(), field.text());
    }
  }
}

void print_tensors(const Parameters& parameters) {
  for (const Parameter& p : parameters.list()) fmt::print("  {} {}\n", p.name(), p.shape());
}

void describe(const std::string& folder, LoadedModel loaded, bool tensors) {
  print_size(folder, loaded.config.model.architecture, *loaded.parameters);
  print_vocabulary("source", *loaded.source);
  print_vocabulary("target", *loaded.target);
  print_attentions(*loaded.model);
  print_limit("source", loaded.model->max_source());
  print_limit("target", loaded.model->max_target());
  if (loaded.config.decoding.beam > 0) {
    fmt::print("decodes by default with beam {} and length penalty {}; splits lines above {} tokens\n",
               loaded.config.decoding.beam, loaded.config.decoding.length_penalty, default_split_above(loaded.config));
  }
  if (std::filesystem::exists(shortlist_path(folder))) {
    const auto shortlist = Shortlist::load(shortlist_path(folder), *loaded.source, *loaded.target);
    fmt::print("shortlist: {} target tokens for every sentence, {} for single source tokens; used {}\n",
               thousands(shortlist->common()), thousands(shortlist->entries()),
               loaded.config.decoding.shortlist ? "by default" : "with --shortlist on");
  }
  print_settings(fields_of(loaded.config), {"model."});
  if (tensors) print_tensors(*loaded.parameters);
}

void describe(const std::string& folder, LoadedClassifier loaded, bool tensors) {
  ClassifierFolderConfig& config = loaded.config;
  if (config.of_images()) {
    const Shape map = loaded.image_encoder().map_shape();
    print_size(folder, fmt::format("{}, {}", config.task, config.vision.network), *loaded.parameters);
    fmt::print("{} classes: {}\n", config.labels.size(), fmt::join(config.labels, ", "));
    fmt::print("feature map: {} x {} positions of {} features{}\n", map[0], map[1], map[2],
               loaded.extractor ? ", of a frozen network" : "");
    print_attentions(*loaded.model);
    print_settings(fields_of(config), {"vision.", "classifier."});
    if (tensors) print_tensors(*loaded.parameters);
    return;
  }
  print_size(folder, fmt::format("classify, {} encoder", config.model.encoder), *loaded.parameters);
  fmt::print("{} classes: {}\n", config.labels.size(), fmt::join(config.labels, ", "));
  print_vocabulary("source", *loaded.source);
  print_attentions(*loaded.model);
  print_limit("source", config.max_source);
  if (config.model.encoder == "recurrent") {
    print_settings(fields_of(config),
                   {"model.encoder", "model.embedding", "model.hidden", "model.cell", "model.bidirectional"});
  } else {
    print_settings(fields_of(config),
                   {"model.encoder", "model.embedding", "model.feed_forward", "model.self_attention."});
  }
  print_settings(fields_of(config), {"classifier."});
  if (tensors) print_tensors(*loaded.parameters);
}

void describe(const std::string& folder, LoadedReader loaded, bool tensors) {
  print_size(folder, fmt::format("answer, {}", loaded.config.answer.interaction), *loaded.parameters);
  print_vocabulary("source", *loaded.vocabulary);
  if (loaded.characters) print_vocabulary("character", *loaded.characters);
  print_attentions(*loaded.model);
  print_settings(fields_of(loaded.config),
                 {"model.embedding", "model.encoder", "model.hidden", "model.cell", "answer."});
  if (tensors) print_tensors(*loaded.parameters);
}

void describe(const std::string& folder, LoadedCaptioner captioner, bool tensors) {
  LoadedModel& loaded = captioner.loaded;
  const Shape map = captioner.map_shape();
  print_size(folder, fmt::format("{} over {}", loaded.config.model.architecture, loaded.config.vision.network),
             *loaded.parameters);
  fmt::print("feature map: {} x {} positions of {} features{}\n", map[0], map[1], map[2],
             captioner.extractor ? ", of a frozen network" : "");
  print_vocabulary("target", *loaded.target);
  print_attentions(*loaded.model);
  print_settings(fields_of(loaded.config), {"model.", "vision."});
  if (tensors) print_tensors(*loaded.parameters);
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
  const std::string task = task_of_model(folder);
  if (task == "answer") {
    describe(folder, load_reader(folder, Device::cpu()), tensors);
  } else if (task == "caption") {
    describe(folder, load_captioner(folder, Device::cpu()), tensors);
  } else if (task == "classify" || task == "classify-images") {
    describe(folder, load_classifier(folder, Device::cpu()), tensors);
  } else {
    describe(folder, load_model(folder, Device::cpu()), tensors);
  }
  fmt::print("{}\n{}\n", describe_cpu(), describe_precisions());
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
