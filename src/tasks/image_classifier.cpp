#include "tasks/image_classifier.h"

#include <algorithm>
#include <numeric>

#include "decode/translator.h"
#include "ops/ops.h"
#include "store/classifier_folder.h"
#include "tasks/classify_record.h"
#include "tasks/pictures.h"

namespace fovea {

namespace {

constexpr size_t kBatch = 32;  // pictures that are classified at a time

std::vector<int32_t> all_numbers(size_t count) {
  std::vector<int32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

struct ImageClassifier::State {
  using TakeBatch = std::function<void(int64_t first, const Classified& classified)>;

  State(LoadedClassifier loaded, Device on, Precision with) : model(std::move(loaded)), device(on), precision(with) {}

  std::vector<float> run(const ImageSource& images, std::span<const int32_t> numbers, Capture capture,
                         const TakeBatch& take, const std::function<void(int64_t)>& done) const;

  LoadedClassifier model;
  Device device;
  Precision precision;
};

ImageClassifier::ImageClassifier(const std::string& folder, const PredictorOptions& options)
    : ImageClassifier(load_classifier(folder, device_named(options.device), ClassifierFolderConfig::kImageTask),
                      device_named(options.device), precision_named(options.precision, device_named(options.device))) {}

ImageClassifier::ImageClassifier(LoadedClassifier model, Device device, Precision precision)
    : state_(std::make_shared<const State>(std::move(model), device, precision)) {}

const std::vector<std::string>& ImageClassifier::labels() const { return state_->model.config.labels; }
const LoadedClassifier& ImageClassifier::model() const { return state_->model; }
int64_t ImageClassifier::size() const { return state_->model.config.vision.size; }
Shape ImageClassifier::map_shape() const { return state_->model.image_encoder().map_shape(); }

std::vector<float> ImageClassifier::State::run(const ImageSource& images, std::span<const int32_t> numbers,
                                               Capture capture, const TakeBatch& take,
                                               const std::function<void(int64_t)>& done) const {
  const PrecisionScope scope(precision);
  Arena arena(device);
  const ArenaScope workspace(&arena);
  std::vector<float> log_probs;
  for (size_t at = 0; at < numbers.size(); at += kBatch) {
    const auto part = numbers.subspan(at, std::min(kBatch, numbers.size() - at));
    const Classified classified = (*model.model)({.images = images.images(part, device)}, capture);
    const std::vector<float> values = to_host<float>(log_softmax(cast(classified.logits, DType::kF32)).value());
    log_probs.insert(log_probs.end(), values.begin(), values.end());
    if (take) take(static_cast<int64_t>(at), classified);
    if (done) done(static_cast<int64_t>(at + part.size()));
    arena.rewind();
  }
  return log_probs;
}

std::vector<float> ImageClassifier::log_probabilities(const ImageSource& images, std::span<const int32_t> numbers,
                                                      const std::function<void(int64_t)>& done) const {
  return state_->run(images, numbers, {}, {}, done);
}

std::vector<Classification> ImageClassifier::classify(std::span<const Image> images, const ClassifyOptions& options,
                                                      const std::function<void(int64_t)>& done) const {
  std::vector<Classification> results(images.size());
  State::TakeBatch record;
  if (options.capture_weights) {
    record = [&](int64_t first, const Classified& classified) {
      const ClassifierWeights weights(model(), classified);
      for (int64_t b = 0; b < classified.logits.dim(0); ++b) {
        results[static_cast<size_t>(first + b)].record = weights.picture_record(b);
      }
    };
  }
  const PrecisionScope precision(state_->precision);
  const Pictures pictures(model(), images);
  const std::vector<int32_t> numbers = all_numbers(images.size());
  add_classes(state_->run(pictures, numbers, options.capture_weights, record, done), labels(), results);
  return results;
}

std::vector<Classification> ImageClassifier::classify_files(std::span<const std::string> files,
                                                            const std::function<void(int64_t)>& done) const {
  std::vector<Classification> results;
  for (size_t at = 0; at < files.size(); at += kBatch) {
    std::vector<Image> images;
    for (const std::string& file : files.subspan(at, std::min(kBatch, files.size() - at))) {
      images.push_back(network_input(read_image(file, size()), size()));
    }
    for (Classification& result : classify(images)) results.push_back(std::move(result));
    if (done) done(std::ssize(results));
  }
  return results;
}

RecordImage ImageClassifier::record_image(const Image& image, const std::string& name) const {
  return fovea::record_image(image, name, map_shape());
}

std::vector<std::string> ImageClassifier::predict(std::span<const std::string> inputs) const {
  std::vector<std::string> found;
  for (const Classification& result : classify_files(inputs)) found.push_back(result.classes.front().label);
  return found;
}

std::unique_ptr<Predictor> load_image_classify_predictor(const std::string& folder, const PredictorOptions& options) {
  return std::make_unique<ImageClassifier>(folder, options);
}

}  // namespace fovea
