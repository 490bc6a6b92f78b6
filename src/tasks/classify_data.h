// The data of a text classifier's training run: labelled texts, a vocabulary that is trained or loaded from the run's
// folder, and batches of token ids.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "tasks/batch_rows.h"
#include "tasks/labelled_data.h"
#include "tasks/task.h"

namespace fovea {

class ClassifyData {
 public:
  explicit ClassifyData(const TaskSetup& setup);

  const std::shared_ptr<const Vocabulary>& source() const { return source_; }
  const LabelledData& labelled() const { return labelled_; }
  const std::vector<std::string>& messages() const { return messages_; }

  // Tokenises the training texts, each truncated to `max_tokens`, and arranges them in batches.
  void tokenise(int64_t max_tokens);

  // As in SequenceData.
  void next();
  int64_t split(int64_t max_tokens) { return batch_.split(max_tokens); }
  int64_t part_tokens() const { return batch_.part_tokens(); }
  LabelledBatch part(int64_t index, Device device) const;
  int64_t batches() const { return batcher_->batches(); }
  Batcher::State state() const { return batcher_->state(); }
  void set_state(Batcher::State state) { batcher_->set_state(state); }

 private:
  // The ids of a text as training reads them in an epoch: with subword sampling and word dropout.
  std::vector<int32_t> noisy_ids(int64_t row, int64_t epoch) const;

  BatchOptions options_;
  uint64_t seed_;
  double sampling_, word_dropout_;
  int64_t max_tokens_ = 0;
  LabelledData labelled_;
  std::shared_ptr<const Vocabulary> source_;
  ParallelCorpus corpus_;  // of the training texts
  std::optional<Batcher> batcher_;
  BatchRows batch_;
  std::vector<std::string> messages_;
};

}  // namespace fovea
