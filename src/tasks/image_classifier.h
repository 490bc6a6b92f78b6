// Classifies pictures with a trained model.
#pragma once

#include <functional>
#include <memory>
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
  explicit ImageClassifier(const std::string& folder, const PredictorOptions& options = {});
  // The weights are read anew at each call: the model may be trained in between.
  ImageClassifier(LoadedClassifier model, Device device, Precision precision);

  const std::vector<std::string>& labels() const;
  const LoadedClassifier& model() const;
  int64_t size() const;     // height and width that are read
  Shape map_shape() const;  // [rows,columns,C]

  // One classification for each picture. Records have no RecordImage, because the caller alone knows
  // the file and its full size: record_image makes it.
  std::vector<Classification> classify(std::span<const Image> images, const ClassifyOptions& options = {},
                                       const std::function<void(int64_t)>& done = {}) const;
  // The same of files, few of which are in memory at a time.
  std::vector<Classification> classify_files(std::span<const std::string> files,
                                             const std::function<void(int64_t)>& done = {}) const;
  RecordImage record_image(const Image& image, const std::string& name) const;
  // The log-probabilities of all classes for pictures that are read already, by their numbers: [picture][class].
  std::vector<float> log_probabilities(const ImageSource& images, std::span<const int32_t> numbers,
                                       const std::function<void(int64_t)>& done = {}) const;
  // Inputs are files of pictures; the likeliest labels.
  std::vector<std::string> predict(std::span<const std::string> inputs) const override;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

std::unique_ptr<Predictor> load_image_classify_predictor(const std::string& folder, const PredictorOptions& options);

}  // namespace fovea
