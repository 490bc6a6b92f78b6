// The data of a picture classifier's training run: labelled pictures and batches of them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "tasks/batch_rows.h"
#include "tasks/labelled_data.h"
#include "tasks/pictures.h"

namespace fovea {

// The labels and files of pictures. `path` is a folder with a folder of pictures for each label, or a file of labels
// and names of pictures in the folder `images`, with the columns label and image if it has a header. Errors name the
// file.
LabelledText read_labelled_images(const std::string& path, const std::string& images,
                                  const LabelledTextOptions& options);

class ImageClassifyData {
 public:
  explicit ImageClassifyData(const TaskSetup& setup);

  const LabelledData& labelled() const { return labelled_; }
  // The files of all pictures: of the training data, then of the validation data. Their numbers are indices.
  std::vector<std::string> files() const;
  std::vector<int32_t> valid_numbers() const;
  // The pictures are read elsewhere, because a frozen network must be there first.
  void set_pictures(std::shared_ptr<const Pictures> pictures) { pictures_ = std::move(pictures); }
  const Pictures& pictures() const { return *pictures_; }

  // As in Task.
  void next();
  int64_t split(int64_t max_tokens) { return batch_.split(max_tokens); }
  int64_t part_tokens() const { return batch_.part_tokens(); }
  LabelledBatch part(int64_t index, Device device) const;
  int64_t batches() const { return batcher_->batches(); }
  Batcher::State state() const { return batcher_->state(); }
  void set_state(Batcher::State state) { batcher_->set_state(state); }

 private:
  LabelledData labelled_;
  AugmentConfig augment_;
  uint64_t seed_;
  ParallelCorpus numbers_;  // of the training pictures, each a source of one number
  std::optional<Batcher> batcher_;
  BatchRows batch_;
  std::shared_ptr<const Pictures> pictures_;
};

}  // namespace fovea
