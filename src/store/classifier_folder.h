// A classifier as a folder: config.json and model.safetensors; of texts also their vocabulary (source.spm or
// source.vocab), and of pictures with a frozen network vision.safetensors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/classifier.h"
#include "models/image_encoder.h"
#include "store/model_folder.h"
#include "text/labelled_text.h"

namespace fovea {

// The contents of config.json.
struct ClassifierFolderConfig {
  int64_t format = 1;
  std::string task = "classify";    // or classify-images
  int64_t source_words = 0;         // texts: the size of the vocabulary
  std::vector<std::string> labels;  // class i is called labels[i]
  int64_t max_source = 0;           // texts: longer ones are truncated to this many tokens
  LabelledTextOptions text;         // how labelled files were read
  ModelConfig model;                // texts
  VisionConfig vision;              // pictures
  ClassifierConfig classifier;

  bool of_images() const { return task == kImageTask; }
  void describe(Fields& fields);

  static constexpr std::string_view kImageTask = "classify-images";
};

// A classifier in memory, read from a folder or still being trained. Copies share the weights.
struct LoadedClassifier {
  ClassifierFolderConfig config;
  std::shared_ptr<const Vocabulary> source;      // null for pictures
  std::shared_ptr<const Parameters> parameters;  // `model` refers to them
  std::shared_ptr<const EncoderClassifier> model;
  std::shared_ptr<const FeatureExtractor> extractor;  // pictures: the frozen network; otherwise null

  const ImageEncoder& image_encoder() const;  // Error for a classifier of texts
};

ClassifierFolderConfig load_classifier_config(const std::string& folder, std::string_view task = {});
// The model of these settings, with its parameters declared in `parameters`.
std::shared_ptr<const EncoderClassifier> make_classifier(Parameters& parameters, const ClassifierFolderConfig& config);
// Error that names the file at fault, also if the folder's task is another than `task`, unless that is empty.
LoadedClassifier load_classifier(const std::string& folder, Device device, std::string_view task = {});
// Saves everything but the weights. Creates the folder if it does not exist.
void save_classifier_description(const std::string& folder, const LoadedClassifier& classifier, bool packed = false);
// Saves the classifier with 8-bit matrices, in a quarter of its size.
void save_packed(const std::string& folder, const LoadedClassifier& classifier);

}  // namespace fovea
