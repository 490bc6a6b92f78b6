#include "store/classifier_folder.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/json_fields.h"
#include "store/vision_weights.h"

namespace fovea {

namespace {

std::string config_path(const std::string& folder) { return folder + "/config.json"; }

}  // namespace

void ClassifierFolderConfig::describe(Fields& f) {
  f.add("format", format, "Version of this file format.").at_least(1).at_most(1);
  f.add("task", task, "What the model does.");
  if (!of_images()) f.add("source_words", source_words, "Size of the vocabulary.").at_least(4);
  f.add("labels", labels, "Names of the classes.");
  if (!of_images()) {
    f.add("max_source", max_source, "Maximum length of a text in tokens; longer texts are truncated.").at_least(1);
  }
  f.section("text", text);
  if (of_images()) {
    f.section("vision", vision);
  } else {
    f.section("model", model);
  }
  f.section("classifier", classifier);
}

ClassifierFolderConfig load_classifier_config(const std::string& folder, std::string_view wanted) {
  ClassifierFolderConfig config;
  const std::string task = task_of_model(folder);
  const bool known = task == config.task || task == ClassifierFolderConfig::kImageTask;
  check(wanted.empty() ? known : task == wanted, "{}: expected a model of the task {}, got one of the task {}", folder,
        wanted.empty() ? config.task : wanted, brief(task));
  config.task = task;  // decides which fields there are
  Fields fields = fields_of(config);
  fields_from_json(fields, read_file(config_path(folder)), config_path(folder));
  check(config.labels.size() >= 2, "{}: labels: expected at least two classes, got {}", config_path(folder),
        config.labels.size());
  check(config.of_images() || config.max_source >= 1, "{}: expected max_source, got none", config_path(folder));
  return config;
}

const ImageEncoder& LoadedClassifier::image_encoder() const {
  const auto* encoder = dynamic_cast<const ImageEncoder*>(&model->encoder());
  check(encoder != nullptr, "expected a classifier of pictures, got one of texts");
  return *encoder;
}

std::shared_ptr<const EncoderClassifier> make_classifier(Parameters& parameters, const ClassifierFolderConfig& config) {
  const int64_t classes = std::ssize(config.labels);
  if (config.of_images()) {
    return std::make_shared<EncoderClassifier>(parameters, std::make_unique<ImageEncoder>(parameters, config.vision),
                                               config.classifier, classes);
  }
  return std::make_shared<EncoderClassifier>(parameters, config.model, config.classifier, config.source_words, classes);
}

LoadedClassifier load_classifier(const std::string& folder, Device device, std::string_view task) {
  LoadedClassifier loaded;
  loaded.config = load_classifier_config(folder, task);
  const ClassifierFolderConfig& config = loaded.config;
  if (!config.of_images()) loaded.source = load_side(folder, "source", config.source_words);
  const auto parameters = std::make_shared<Parameters>(device);
  loaded.model = make_classifier(*parameters, config);
  parameters->allocate_unset();
  load_weights(folder, *parameters);
  loaded.parameters = parameters;
  if (config.of_images() && config.vision.frozen) {
    loaded.extractor = load_feature_extractor(config.vision, network_weights_path(folder), device);
  }
  return loaded;
}

void save_classifier_description(const std::string& folder, const LoadedClassifier& classifier, bool packed) {
  create_model_folder(folder);
  ClassifierFolderConfig copy = classifier.config;
  write_file_atomically(config_path(folder), fields_to_json(fields_of(copy)));
  if (classifier.source) save_vocabulary(*classifier.source, folder, "source");
  if (classifier.extractor) {
    save_network_weights(network_weights_path(folder), classifier.extractor->parameters(), packed);
  }
}

void save_packed(const std::string& folder, const LoadedClassifier& classifier) {
  save_classifier_description(folder, classifier, true);
  save_packed_weights(folder, *classifier.parameters);
}

}  // namespace fovea
