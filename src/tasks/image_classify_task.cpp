#include "tasks/image_classify_task.h"

#include <fmt/ranges.h>

#include "store/vision_weights.h"
#include "tasks/class_task.h"
#include "tasks/image_classifier.h"
#include "tasks/image_classify_data.h"

namespace fovea {

namespace {

class ImageClassifyTask final : public ClassTask {
 public:
  explicit ImageClassifyTask(const TaskSetup& setup) : ClassTask(setup), data_(setup) {
    ClassifierFolderConfig& config = loaded_.config;
    config.labels = labelled().labels();
    config.vision = recipe_.vision;
    loaded_.model = make_classifier(setup.parameters, config);
    if (config.vision.frozen) {
      const std::string weights =
          setup.resume_folder.empty() ? config.vision.weights : network_weights_path(setup.resume_folder);
      loaded_.extractor = load_feature_extractor(config.vision, weights, device_);
    }
    config.vision.weights = "";  // a model folder has its own
    data_.set_pictures(std::make_shared<Pictures>(loaded_, data_.files(),
                                                  feature_file(recipe_.data.features, recipe_.folder), setup.progress));
  }

  const std::vector<std::string>& messages() const override { return labelled().messages(); }
  std::string description() const override {
    return fmt::format("{}, {} pooling, {} classes", recipe_.vision.network, fmt::join(recipe_.classify.pooling, " + "),
                       labelled().labels().size());
  }
  void initialise() override {
    if (!recipe_.vision.frozen && !recipe_.vision.weights.empty()) {
      load_network_weights(recipe_.vision.weights, *loaded_.parameters);
    }
  }

  void next_batch() override { data_.next(); }
  int64_t split(int64_t max_tokens) override { return data_.split(max_tokens); }
  int64_t part_tokens() const override { return data_.part_tokens(); }
  Part load_part(int64_t index) override {
    batch_ = data_.part(index, device_);
    const int64_t pictures = batch_.source.images.dim(0);
    return {.sizes = {pictures}, .units = pictures};
  }
  std::string_view unit() const override { return "picture"; }

 private:
  const LabelledData& labelled() const override { return data_.labelled(); }
  int64_t batches() const override { return data_.batches(); }
  Batcher::State position() const override { return data_.state(); }
  void set_position(Batcher::State state) override { data_.set_state(state); }
  std::vector<float> valid_log_probabilities(const ValidationProgress& progress) const override {
    const std::vector<int32_t> numbers = data_.valid_numbers();
    const ImageClassifier classifier(loaded_, device_, product_precision());
    return classifier.log_probabilities(data_.pictures(), numbers,
                                        [&](int64_t done) { progress(done, std::ssize(numbers)); });
  }

  ImageClassifyData data_;
};

}  // namespace

std::unique_ptr<Task> make_image_classify_task(const TaskSetup& setup) {
  return std::make_unique<ImageClassifyTask>(setup);
}

}  // namespace fovea
