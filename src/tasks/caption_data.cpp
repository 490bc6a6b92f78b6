#include "tasks/caption_data.h"

#include <filesystem>

#include "base/error.h"
#include "base/thousands.h"
#include "decode/search.h"

namespace fovea {

namespace {

// The pictures of a batch with a change each.
class AugmentedPictures final : public ImageSource {
 public:
  AugmentedPictures(const Pictures& pictures, std::span<const Augmentation> changes)
      : pictures_(pictures), changes_(changes) {}

  Tensor images(std::span<const int32_t> numbers, Device device) const override {
    return pictures_.augmented(numbers, changes_, device);
  }
  int64_t states() const override { return pictures_.states(); }

 private:
  const Pictures& pictures_;
  std::span<const Augmentation> changes_;
};

}  // namespace

CaptionData::CaptionData(const TaskSetup& setup)
    : options_(setup.recipe.batch),
      target_(setup.known_vocabulary("target")),
      augment_(setup.recipe.vision.frozen ? AugmentConfig() : setup.recipe.vision.augment),
      guided_delay_(setup.recipe.training.guided_step == "input" ? 1 : 0) {
  const Recipe& recipe = setup.recipe;
  options_.seed = recipe.seed;
  options_.end_source = options_.reverse_source = false;
  ParallelLines train = read(recipe.data.train);
  const ParallelLines valid = read(recipe.data.valid);
  if (!target_) {
    TrainedVocabulary trained = train_vocabulary(train.target, recipe.target_vocabulary);
    if (!trained.warning.empty()) messages_.push_back("target vocabulary: " + trained.warning);
    target_ = std::move(trained.vocabulary);
  }
  train_ = corpus_of(train, recipe.data.images, recipe.data.filter.max_target, "train");
  valid_ = corpus_of(valid, recipe.data.images, 0, "valid");
  for (const int64_t line : train_.lines) {
    mentions_side_.push_back(mentions_side(train.target[static_cast<size_t>(line)]));
  }
  if (!recipe.data.alignment.empty()) {
    boxes_.emplace(recipe.data.alignment, train, train_, *target_);
    messages_.push_back(fmt::format("{} of the captions have boxes", thousands(boxes_->captions())));
  }
  train_captions_ = std::move(train.target);
  std::map<int32_t, size_t> places;
  for (int64_t i = 0; i < valid_.size(); ++i) {
    const int32_t picture = valid_.source[i].front();
    const auto [place, fresh] = places.try_emplace(picture, described_.size());
    if (fresh) described_.push_back({picture, {}});
    described_[place->second].captions.push_back(
        valid.target[static_cast<size_t>(valid_.lines[static_cast<size_t>(i)])]);
  }
  batcher_.emplace(train_, options_);
}

ParallelLines CaptionData::read(const std::vector<std::string>& paths) const {
  ParallelLines all;
  for (const std::string& path : paths) {
    ParallelLines lines = read_tsv(path);
    for (size_t i = 0; i < lines.source.size(); ++i) {
      check(!lines.source[i].empty(), "{}:{}: expected the name of a picture, a tab and a caption, got no name", path,
            i + 1);
      all.source.push_back(std::move(lines.source[i]));
      all.target.push_back(std::move(lines.target[i]));
    }
  }
  return all;
}

int32_t CaptionData::number_of(const std::string& name, const std::string& folder) {
  const auto [found, fresh] = numbers_.try_emplace(name, static_cast<int32_t>(files_.size()));
  if (fresh) {
    std::string path = (std::filesystem::path(folder) / name).string();
    check(std::filesystem::is_regular_file(path),
          "{}: expected a picture, found no such file; set data.images to the "
          "folder of the pictures",
          path);
    files_.push_back(std::move(path));
  }
  return found->second;
}

ParallelCorpus CaptionData::corpus_of(const ParallelLines& lines, const std::string& folder, int64_t max_target,
                                      std::string_view what) {
  ParallelCorpus corpus;
  int64_t empty = 0, too_long = 0;
  for (size_t i = 0; i < lines.source.size(); ++i) {
    const std::vector<int32_t> ids = target_->encode(lines.target[i]);
    if (ids.empty()) {
      ++empty;
    } else if (max_target > 0 && std::ssize(ids) > max_target) {
      ++too_long;
    } else {
      const int32_t number = number_of(lines.source[i], folder);
      corpus.source.append({&number, 1});
      corpus.target.append(ids);
      corpus.lines.push_back(static_cast<int64_t>(i));
    }
  }
  check(corpus.size() > 0, "data.{}: expected captions, got none", what);
  std::string report =
      fmt::format("{}: kept {} of {} captions", what, thousands(corpus.size()), thousands(std::ssize(lines.source)));
  if (empty > 0) report += fmt::format("; skipped {} empty", thousands(empty));
  if (too_long > 0) report += fmt::format("; skipped {} that are too long", thousands(too_long));
  messages_.push_back(report);
  return corpus;
}

void CaptionData::next() {
  const int64_t epoch = batcher_->state().epoch;
  batch_ = {.epoch = epoch, .rows = batcher_->next_rows()};
  batch_target_tokens_ = 0;
  for (const int64_t row : batch_.rows) batch_target_tokens_ += train_.target.length(row) + 1;
  batch_.padded_tokens = padded_tokens(train_, batch_.rows, options_);
}

std::vector<int32_t> CaptionData::batch_pictures() const {
  std::vector<int32_t> pictures;
  for (const int64_t row : batch_.rows) pictures.push_back(train_.source[row].front());
  return pictures;
}

std::vector<Augmentation> CaptionData::changes(std::span<const int64_t> rows) const {
  std::vector<Augmentation> changes;
  if (!augment_.changes_anything()) return changes;
  const auto seed = static_cast<uint64_t>(options_.seed);
  const int64_t size = pictures_->size();
  for (const int64_t row : rows) {
    const bool may_flip = !mentions_side_[static_cast<size_t>(row)];
    changes.push_back(draw_augmentation(augment_, size, size, may_flip, seed, batch_.epoch, row));
  }
  return changes;
}

Batch CaptionData::part(int64_t index, Device device) const {
  Batch batch = make_batch(train_, batch_.part(index), options_, device);
  const std::vector<Augmentation> changed = changes(batch.rows);
  if (changed.empty()) {
    add_images(batch, *pictures_);
  } else {
    add_images(batch, AugmentedPictures(*pictures_, changed));
  }
  batch.token_share = from_host(std::vector{1.0f / static_cast<float>(batch_target_tokens_)}, {1}, device);
  return batch;
}

Tensor CaptionData::alignment(const Batch& part, Device device) const {
  if (!boxes_) return {};
  const Shape& map = pictures_->map_shape();
  return boxes_->weights(part.rows, part.target_in.dim(0), map[0], map[1], guided_delay_, changes(part.rows),
                         pictures_->size(), device);
}

}  // namespace fovea
