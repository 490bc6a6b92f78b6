#include "store/model_folder.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/foreign_folder.h"
#include "store/json_fields.h"
#include "store/safetensors.h"
#include "store/task_names.h"

namespace fovea {

namespace {

constexpr int64_t kFormat = 1;

std::string config_path(const std::string& folder) { return folder + "/config.json"; }

// The name of the files with the vocabulary of a side.
std::string stem_of(const std::string& folder, const std::string& side) {
  const bool shared = side == "target" && !has_vocabulary(folder, side) && has_vocabulary(folder, "source") &&
                      std::filesystem::exists(config_path(folder)) && is_text_to_text(task_of_model(folder));
  return shared ? "source" : side;
}

}  // namespace

std::string weights_path(const std::string& folder) { return folder + "/model.safetensors"; }

bool has_side(const std::string& folder, const std::string& side) {
  if (foreign_format(folder) != nullptr) return side == "source" || side == "target";
  return has_vocabulary(folder, stem_of(folder, side));
}

std::shared_ptr<const Vocabulary> load_side(const std::string& folder, const std::string& side) {
  if (const ForeignFormat* format = foreign_format(folder)) {
    const ForeignModel foreign = format->read(folder);
    return side == "target" ? foreign.target : foreign.source;
  }
  return load_vocabulary(folder, stem_of(folder, side));
}

std::shared_ptr<const Vocabulary> load_side(const std::string& folder, const std::string& side, int64_t words) {
  std::shared_ptr<const Vocabulary> vocabulary = load_side(folder, side);
  const std::string stem = stem_of(folder, side);
  check(vocabulary->size() == words, "{}/{}.{}: expected {} tokens{}, as in config.json, got {}", folder, stem,
        vocabulary->extension(), words, stem == side ? "" : ", because there is no other vocabulary for the " + side,
        vocabulary->size());
  return vocabulary;
}

void create_model_folder(const std::string& folder) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  check(!code, "{}: cannot create the folder: {}", folder, code.message());
}

void DecodingDefaults::describe(Fields& f) {
  f.add("beam", beam, "Beam size that was best on validation text; 0 if not measured.").at_least(0).at_most(1000);
  f.add("length_penalty", length_penalty, "The length penalty that was best with it.").at_least(0);
  f.add("split_above", split_above,
        "Longer lines, in source tokens, are split into sentences; 0 for never, -1 if not measured.")
      .at_least(-1);
  f.add("shortlist", shortlist, "Decode with the shortlist of the folder, on a CPU.");
}

void FolderConfig::describe(Fields& f) {
  f.add("format", format, "Version of this file format.").at_least(1).at_most(kFormat);
  f.add("task", task, "What the model does, as in its recipe.");
  const bool of_text = task != "caption";
  if (of_text) f.add("source_words", source_words, "Size of the source vocabulary.").at_least(4);
  f.add("target_words", target_words, "Size of the target vocabulary.").at_least(4);
  if (of_text) {
    f.add("end_source", end_source, "Whether an end-of-sentence token is appended to the source.");
    f.add("reverse_source", reverse_source, "Whether the source is read backwards.");
    f.add("split_identifiers", split_identifiers,
          "Whether identifiers in the source are read as words: cityServed as city served.");
    f.add("max_source", max_source, "Longer sources are truncated to this many tokens, as in training; 0 for no limit.")
        .at_least(0);
  }
  if (task == "dialogue") f.section("dialogue", dialogue);
  f.add("best_heads", best_heads,
        "What aligns words best: one head, or the mean, max or rollout of several; empty if not measured.");
  f.add("best_layer", best_layer, "Layer of these heads, counted from 1; 0 for all layers.").at_least(0);
  f.add("best_head", best_head, "That head, counted from 1; 0 for all heads.").at_least(0);
  f.add("best_step", best_step, "The step of decoding that aligns a target token best: output or input.")
      .choices({"", "output", "input"});
  f.section("decoding", decoding);
  f.section("model", model);
  if (!of_text) f.section("vision", vision);
}

BatchOptions LoadedModel::batches() const {
  BatchOptions options;
  options.end_source = config.end_source;
  options.reverse_source = config.reverse_source;
  options.shuffle = false;
  return options;
}

std::string task_of_model(const std::string& folder) {
  check(std::filesystem::is_directory(folder), "{}: expected a model folder, got {}", folder,
        std::filesystem::exists(folder) ? "a file" : "no such folder");
  if (foreign_format(folder) != nullptr) return FolderConfig().task;
  check(std::filesystem::exists(config_path(folder)), "{}: expected a model folder, got a folder without config.json",
        folder);
  const Json config = parse_json(read_file(config_path(folder)), config_path(folder));
  if (!config.is_object() || !config.contains("task")) return FolderConfig().task;
  check(config["task"].is_string(), "{}: task: expected a string, got {}", config_path(folder),
        brief_value(config["task"]));
  return config["task"];
}

LoadedModel load_model(const std::string& folder, Device device) {
  if (const ForeignFormat* format = foreign_format(folder)) return load_foreign(*format, folder, device);
  LoadedModel loaded;
  const std::string task = task_of_model(folder);
  std::vector<std::string_view> accepted;
  for (const TaskName& entry : kTaskNames) {
    if (entry.text_to_text) accepted.push_back(entry.name);
  }
  check(is_text_to_text(task), "{}: expected a model from text to text (task {}), got one of the task {}", folder,
        fmt::join(accepted, ", "), brief(task));
  loaded.config.task = task;  // decides which fields there are
  Fields fields = fields_of(loaded.config);
  fields_from_json(fields, read_file(config_path(folder)), config_path(folder));
  check(loaded.config.dialogue.speakers.size() == 2, "{}: dialogue.speakers: expected two marks, got {}",
        config_path(folder), loaded.config.dialogue.speakers.size());
  loaded.source = load_side(folder, "source", loaded.config.source_words);
  loaded.target = load_side(folder, "target", loaded.config.target_words);
  const auto parameters = std::make_shared<Parameters>(device);
  loaded.model = make_model(*parameters, loaded.config.model,
                            {.source = loaded.config.source_words, .target = loaded.config.target_words});
  parameters->allocate_unset();
  load_weights(folder, *parameters);
  loaded.parameters = parameters;
  return loaded;
}

std::string weights_file(const std::string& folder) {
  for (const char* name : {"/model.safetensors", "/pytorch_model.bin", "/model.bin"}) {
    if (std::filesystem::exists(folder + name)) return folder + name;
  }
  return weights_path(folder);
}

void save_config(const std::string& folder, const FolderConfig& config) {
  FolderConfig copy = config;
  write_file_atomically(config_path(folder), fields_to_json(fields_of(copy)));
}

void save_model_description(const std::string& folder, const FolderConfig& config, const Vocabulary& source,
                            const Vocabulary& target) {
  create_model_folder(folder);
  save_config(folder, config);
  save_vocabulary(source, folder, "source");
  save_vocabulary(target, folder, "target");
}

void save_weights(const std::string& folder, const Parameters& parameters, const Tensor& values) {
  write_safetensors(weights_path(folder), named_tensors(parameters, values), {{"format", "fovea"}});
}

void load_weights(const std::string& folder, const Parameters& parameters) {
  read_tensors(SafetensorsFile(weights_path(folder)), parameters, parameters.values());
}

void save_packed(const std::string& folder, const LoadedModel& model) {
  create_model_folder(folder);
  save_config(folder, model.config);
  save_vocabulary(*model.source, folder, "source");
  const bool shared =
      model.source->extension() == model.target->extension() && model.source->bytes() == model.target->bytes();
  if (!shared) save_vocabulary(*model.target, folder, "target");
  save_packed_weights(folder, *model.parameters);
}

void save_packed_weights(const std::string& folder, const Parameters& parameters) {
  write_packed_safetensors(weights_path(folder), named_tensors(parameters, parameters.values()), {{"format", "fovea"}});
}

std::vector<NamedTensor> named_tensors(const Parameters& parameters, const Tensor& values, const std::string& prefix) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& p : parameters.list()) tensors.push_back({prefix + p.name(), parameters.part(values, p)});
  return tensors;
}

void read_tensors(const SafetensorsFile& file, const Parameters& parameters, const Tensor& values,
                  const std::string& prefix) {
  for (const Parameter& p : parameters.list()) file.read(prefix + p.name(), parameters.part(values, p));
}

}  // namespace fovea
