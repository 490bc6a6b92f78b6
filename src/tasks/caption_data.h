// The data of a captioning run: pictures with their captions, the vocabulary of the captions, and batches of both.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "tasks/batch_rows.h"
#include "tasks/caption_boxes.h"
#include "tasks/pictures.h"
#include "tasks/task.h"
#include "text/batches.h"

namespace fovea {

class CaptionData {
 public:
  explicit CaptionData(const TaskSetup& setup);

  const std::shared_ptr<const Vocabulary>& target() const { return target_; }
  const std::vector<std::string>& messages() const { return messages_; }  // reports
  const std::vector<std::string>& files() const { return files_; }        // of all pictures; their numbers are indices
  // The pictures are read elsewhere (Pictures), because a frozen network must be there first.
  void set_pictures(std::shared_ptr<const Pictures> pictures) { pictures_ = std::move(pictures); }
  const ImageSource& pictures() const { return *pictures_; }

  // As in Task.
  void next();
  int64_t split(int64_t max_tokens) { return batch_.split(max_tokens); }
  int64_t part_tokens() const { return batch_.part_tokens(); }
  Batch part(int64_t index, Device device) const;
  // The attention that the boxes of data.alignment ask for, [B,1,T,S]; empty without them.
  Tensor alignment(const Batch& part, Device device) const;
  // The pictures of the batch: one for each caption.
  std::vector<int32_t> batch_pictures() const;
  int64_t batches() const { return batcher_->batches(); }
  Batcher::State state() const { return batcher_->state(); }
  void set_state(Batcher::State state) { batcher_->set_state(state); }

  // For the loss: a number and a caption each.
  const ParallelCorpus& train() const { return train_; }
  const std::string& train_caption(int64_t row) const {
    return train_captions_[static_cast<size_t>(train_.lines[static_cast<size_t>(row)])];
  }
  const ParallelCorpus& valid() const { return valid_; }
  // To decode: the pictures of the validation captions, each once, with all of their captions.
  struct Described {
    int32_t picture = 0;
    std::vector<std::string> captions;
  };
  const std::vector<Described>& described() const { return described_; }

 private:
  ParallelLines read(const std::vector<std::string>& paths) const;
  int32_t number_of(const std::string& name, const std::string& folder);
  // The changes of the pictures of some rows in this epoch; empty without augmentation.
  std::vector<Augmentation> changes(std::span<const int64_t> rows) const;
  ParallelCorpus corpus_of(const ParallelLines& lines, const std::string& folder, int64_t max_target,
                           std::string_view what);

  BatchOptions options_;
  std::shared_ptr<const Vocabulary> target_;
  std::vector<std::string> files_;
  std::map<std::string, int32_t> numbers_;  // by name
  ParallelCorpus train_, valid_;
  std::vector<std::string> train_captions_;  // by line
  std::vector<Described> described_;
  std::optional<Batcher> batcher_;
  BatchRows batch_;
  int64_t batch_target_tokens_ = 0;
  std::shared_ptr<const Pictures> pictures_;
  AugmentConfig augment_;
  std::optional<CaptionBoxes> boxes_;
  int64_t guided_delay_;
  std::vector<bool> mentions_side_;  // of each training caption: its picture must not be flipped
  std::vector<std::string> messages_;
};

}  // namespace fovea
