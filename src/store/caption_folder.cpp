#include "store/caption_folder.h"

#include "base/error.h"
#include "base/files.h"
#include "store/json_fields.h"
#include "store/vision_weights.h"

namespace fovea {

LoadedCaptioner make_captioner(Parameters& parameters, const FolderConfig& config) {
  LoadedCaptioner made;
  made.loaded.config = config;
  made.loaded.config.end_source = false;
  auto encoder = std::make_unique<ImageEncoder>(parameters, config.vision);
  made.encoder = encoder.get();
  made.loaded.model = make_model(parameters, config.model, std::move(encoder), config.target_words);
  return made;
}

LoadedCaptioner load_captioner(const std::string& folder, Device device) {
  const std::string path = folder + "/config.json", task = task_of_model(folder);
  FolderConfig config;
  check(task == "caption", "{}: expected a model of the task caption, got one of the task {}", folder, brief(task));
  config.task = task;  // decides which fields there are
  Fields fields = fields_of(config);
  fields_from_json(fields, read_file(path), path);
  const auto parameters = std::make_shared<Parameters>(device);
  LoadedCaptioner captioner = make_captioner(*parameters, config);
  captioner.loaded.target = load_side(folder, "target", config.target_words);
  parameters->allocate_unset();
  load_weights(folder, *parameters);
  captioner.loaded.parameters = parameters;
  if (config.vision.frozen) {
    captioner.extractor = load_feature_extractor(config.vision, network_weights_path(folder), device);
  }
  return captioner;
}

void save_captioner_description(const std::string& folder, const LoadedCaptioner& captioner, bool packed) {
  create_model_folder(folder);
  save_config(folder, captioner.loaded.config);
  save_vocabulary(*captioner.loaded.target, folder, "target");
  if (captioner.extractor) {
    save_network_weights(network_weights_path(folder), captioner.extractor->parameters(), packed);
  }
}

void save_packed(const std::string& folder, const LoadedCaptioner& captioner) {
  save_captioner_description(folder, captioner, true);
  save_packed_weights(folder, *captioner.loaded.parameters);
}

}  // namespace fovea
