#include "tasks/caption_task.h"

#include <algorithm>

#include "base/error.h"
#include "decode/ensemble.h"
#include "evaluate/captions.h"
#include "evaluate/validation_metrics.h"
#include "recipe/recipe.h"
#include "store/vision_weights.h"
#include "tasks/caption_data.h"
#include "tasks/captioner.h"
#include "tasks/self_critical.h"
#include "tasks/sequence_loss.h"

namespace fovea {

namespace {

// Captions that the model sampled are learned as they are.
TrainingConfig loss_config(TrainingConfig config) {
  if (config.self_critical) config.label_smoothing = 0;
  return config;
}

class CaptionTask final : public Task {
 public:
  explicit CaptionTask(const TaskSetup& setup)
      : recipe_(setup.recipe),
        device_(setup.device),
        data_(setup),
        loss_(loss_config(recipe_.training), recipe_.model.attention) {
    FolderConfig config;
    config.task = recipe_.task;
    config.target_words = data_.target()->size();
    config.model = recipe_.model;
    config.vision = recipe_.vision;
    model_ = make_captioner(setup.parameters, config);
    model_.loaded.target = data_.target();
    model_.loaded.parameters = {std::shared_ptr<const Parameters>(), &setup.parameters};  // the trainer owns them
    if (config.vision.frozen) {
      const std::string weights =
          setup.resume_folder.empty() ? config.vision.weights : network_weights_path(setup.resume_folder);
      model_.extractor = load_feature_extractor(config.vision, weights, device_);
    }
    model_.loaded.config.vision.weights = "";  // a model folder has its own
    const std::string cache = feature_file(recipe_.data.features, recipe_.folder);
    data_.set_pictures(std::make_shared<Pictures>(model_, data_.files(), cache, setup.progress));
    if (recipe_.training.self_critical) {
      critic_.emplace(data_, model(), recipe_.validation.search, recipe_.seed, device_);
    }
  }

  const std::vector<std::string>& messages() const override { return data_.messages(); }
  std::string description() const override { return recipe_.model.architecture + " over " + recipe_.vision.network; }
  void save_description(const std::string& folder) const override { save_captioner_description(folder, model_); }
  void initialise() override {
    if (!recipe_.vision.frozen && !recipe_.vision.weights.empty()) {
      load_network_weights(recipe_.vision.weights, *model_.loaded.parameters);
    }
  }

  Progress progress() const override {
    const Batcher::State state = data_.state();
    return {.epoch = state.epoch, .batch = state.next, .batches = data_.batches()};
  }
  void next_batch() override {
    const Batcher::State state = data_.state();
    data_.next();
    if (critic_) critic_->next(state.epoch * data_.batches() + state.next);
  }
  int64_t split(int64_t max_tokens) override { return critic_ ? critic_->split(max_tokens) : data_.split(max_tokens); }
  int64_t part_tokens() const override { return critic_ ? critic_->part_tokens() : data_.part_tokens(); }
  Part load_part(int64_t index) override {
    batch_ = critic_ ? critic_->part(index) : data_.part(index, device_);
    if (!critic_) alignment_ = data_.alignment(batch_, device_);
    return {.sizes = {batch_.target_in.dim(0), batch_.target_in.dim(1)}, .units = batch_.target_tokens};
  }
  TaskLoss loss() override {
    const KnownTargets targets = loss_.targets(batch_);
    return loss_(model().teacher_force(source_of(batch_), batch_.target_in, loss_.needs_weights(), {}, &targets),
                 batch_, alignment_);
  }

  std::map<std::string, double> state() const override { return stored_state(data_.state(), loss_); }
  void set_state(const std::map<std::string, double>& state) override { data_.set_state(restored_state(state, loss_)); }

  std::string metric() const override { return recipe_.validation.metric; }
  bool higher_is_better() const override { return fovea::higher_is_better(metric()); }
  Validation validate(int64_t number, const ValidationProgress& progress) override {
    BatchOptions options = recipe_.batch;
    options.end_source = options.reverse_source = false;
    Validation validation{.loss = mean_cross_entropy(model(), data_.valid(), options, device_, {}, &data_.pictures())};
    if (metric() != "loss") decode(number, progress, validation);
    return validation;
  }

 private:
  const EncoderDecoder& model() const { return *model_.loaded.model; }
  void decode(int64_t number, const ValidationProgress& progress, Validation& validation) const;

  Recipe recipe_;
  Device device_;
  CaptionData data_;
  LoadedCaptioner model_;  // that is trained
  SequenceLoss loss_;
  std::optional<SelfCritical> critic_;
  Batch batch_;       // the loaded part
  Tensor alignment_;  // of the loaded part, [B,1,T,S]; empty without boxes
};

void CaptionTask::decode(int64_t number, const ValidationProgress& progress, Validation& validation) const {
  const auto& all = data_.described();
  const auto wanted = static_cast<size_t>(recipe_.validation.sentences);
  const auto described = std::span(all).first(wanted > 0 ? std::min(all.size(), wanted) : all.size());
  std::vector<int32_t> pictures;
  for (const CaptionData::Described& d : described) pictures.push_back(d.picture);
  const Captioner captioner(model_, device_, product_precision());
  const std::vector<Caption> captions = captioner.caption(data_.pictures(), pictures, recipe_.validation.search,
                                                          [&](int64_t done) { progress(done, std::ssize(pictures)); });
  std::vector<Segment> segments;
  for (size_t i = 0; i < captions.size(); ++i) segments.push_back({captions[i].text(), described[i].captions});
  if (metric() == "exact") {
    validation.score = validation_score(metric(), segments, {});
  } else {
    const CaptionScore score = caption_score(segments);
    validation.score = score.named(metric());
    validation.scores = {{"bleu-4", score.bleu.back()}, {"rouge-l", score.rouge_l}, {"cider-d", score.cider_d}};
  }
  const auto example = static_cast<size_t>(number) % segments.size();
  validation.example_input = data_.files()[static_cast<size_t>(pictures[example])];
  validation.example_output = segments[example].hypothesis;
}

}  // namespace

std::unique_ptr<Task> make_caption_task(const TaskSetup& setup) { return std::make_unique<CaptionTask>(setup); }

}  // namespace fovea
