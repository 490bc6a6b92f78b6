// A classifier as a folder: config.json, model.safetensors and the vocabulary of its texts (source.spm or
// source.vocab).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/text_classifier.h"
#include "store/model_folder.h"
#include "text/labelled_text.h"

namespace fovea {

// The contents of config.json.
struct ClassifierFolderConfig {
  int64_t format = 1;
  std::string task = "classify";
  int64_t source_words = 0;         // the size of the vocabulary
  std::vector<std::string> labels;  // class i is called labels[i]
  int64_t max_source = 0;           // longer texts are truncated to this many tokens
  LabelledTextOptions text;         // how labelled files were read
  ModelConfig model;
  ClassifierConfig classifier;

  void describe(Fields& fields);
};

// A classifier in memory, read from a folder or still being trained. Copies share the weights.
struct LoadedClassifier {
  ClassifierFolderConfig config;
  std::shared_ptr<const Vocabulary> source;
  std::shared_ptr<const Parameters> parameters;  // `model` refers to them
  std::shared_ptr<const TextClassifier> model;
};

ClassifierFolderConfig load_classifier_config(const std::string& folder);
// Error that names the file at fault.
LoadedClassifier load_classifier(const std::string& folder, Device device);
// Saves everything but the weights. Creates the folder if it does not exist.
void save_classifier_description(const std::string& folder, const ClassifierFolderConfig& config,
                                 const Vocabulary& source);
// Saves the classifier with 8-bit matrices, in a quarter of its size.
void save_packed(const std::string& folder, const LoadedClassifier& classifier);

}  // namespace fovea
