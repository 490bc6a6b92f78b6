#include "store/classifier_folder.h"

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "store/json_fields.h"

namespace fovea {

namespace {

std::string config_path(const std::string& folder) { return folder + "/config.json"; }

}  // namespace

void ClassifierFolderConfig::describe(Fields& f) {
  f.add("format", format, "Version of this file format.").at_least(1).at_most(1);
  f.add("task", task, "What the model does.");
  f.add("source_words", source_words, "Size of the vocabulary.").at_least(4);
  f.add("labels", labels, "Names of the classes.");
  f.add("max_source", max_source, "Maximum length of a text in tokens; longer texts are truncated.").at_least(1);
  f.section("text", text);
  f.section("model", model);
  f.section("classifier", classifier);
}

ClassifierFolderConfig load_classifier_config(const std::string& folder) {
  ClassifierFolderConfig config;
  const std::string task = task_of_model(folder);
  check(task == config.task, "{}: expected a model of the task {}, got one of the task {}", folder, config.task,
        brief(task));
  Fields fields = fields_of(config);
  fields_from_json(fields, read_file(config_path(folder)), config_path(folder));
  check(config.labels.size() >= 2, "{}: labels: expected at least two classes, got {}", config_path(folder),
        config.labels.size());
  check(config.max_source >= 1, "{}: expected max_source, got none", config_path(folder));
  return config;
}

LoadedClassifier load_classifier(const std::string& folder, Device device) {
  LoadedClassifier loaded;
  loaded.config = load_classifier_config(folder);
  const ClassifierFolderConfig& config = loaded.config;
  loaded.source = load_side(folder, "source", config.source_words);
  const auto parameters = std::make_shared<Parameters>(device);
  loaded.model = std::make_shared<TextClassifier>(*parameters, config.model, config.classifier, config.source_words,
                                                  std::ssize(config.labels));
  parameters->allocate_unset();
  load_weights(folder, *parameters);
  loaded.parameters = parameters;
  return loaded;
}

void save_classifier_description(const std::string& folder, const ClassifierFolderConfig& config,
                                 const Vocabulary& source) {
  create_model_folder(folder);
  ClassifierFolderConfig copy = config;
  write_file_atomically(config_path(folder), fields_to_json(fields_of(copy)));
  save_vocabulary(source, folder, "source");
}

void save_packed(const std::string& folder, const LoadedClassifier& classifier) {
  save_classifier_description(folder, classifier.config, *classifier.source);
  save_packed_weights(folder, *classifier.parameters);
}

}  // namespace fovea
