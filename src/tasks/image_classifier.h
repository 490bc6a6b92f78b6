// Classifies pictures with a trained model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "decode/search.h"
#include "tasks/classifier.h"
#include "vision/image.h"

namespace fovea {

// Several threads may use an ImageClassifier at the same time.
class ImageClassifier final : public Predictor {
 public:
  ImageClassifier(const std::string& folder, const PredictorOptions& options);
  // The weights are read anew at each call: the model may be trained in between.
  ImageClassifier(LoadedClassifier model, Device device, Precision precision);

  const std::vector<std::string>& labels() const { return model_.config.labels; }
  const LoadedClassifier& model() const { return model_; }
  int64_t size() const { return model_.config.vision.size; }              // height and width that are read
  Shape map_shape() const { return model_.image_encoder().map_shape(); }  // [rows,columns,C]

  // One classification for each picture. Records have no RecordImage; the caller knows the file (record_image).
  std::vector<Classification> classify(std::span<const Image> images, const ClassifyOptions& options = {},
                                       const std::function<void(int64_t)>& done = {}) const;
  // The same of files, few of which are in memory at a time.
  std::vector<Classification> classify_files(std::span<const std::string> files,
                                             const std::function<void(int64_t)>& done = {}) const;
  // The log-probabilities of all classes for pictures that are read already, by their numbers: [picture][class].
  std::vector<float> log_probabilities(const ImageSource& images, std::span<const int32_t> numbers,
                                       const std::function<void(int64_t)>& done = {}) const;
  // Inputs are files of pictures; the likeliest labels.
  std::vector<std::string> predict(std::span<const std::string> inputs) const override;

 private:
  using TakeBatch = std::function<void(int64_t first, const Classified& classified)>;
  std::vector<float> run(const ImageSource& images, std::span<const int32_t> numbers, Capture capture,
                         const TakeBatch& take, const std::function<void(int64_t)>& done) const;

  LoadedClassifier model_;
  Device device_;
  Precision precision_;
};

std::unique_ptr<Predictor> load_image_classify_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
