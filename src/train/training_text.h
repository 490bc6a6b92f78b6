// The text of a run: read or made, cut by vocabularies that are trained here or taken from the run's
// folder, filtered, and handed out batch by batch.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/alignments.h"
#include "train/recipe.h"

namespace fovea {

class TrainingText {
 public:
  // With `known`, vocabularies are read from that folder instead of being trained.
  TrainingText(const Recipe& recipe, const std::string& known);

  const Vocabulary& source() const { return *source_; }
  const Vocabulary& target() const { return *target_; }
  const std::vector<std::string>& messages() const { return messages_; }  // reports and warnings

  Batch next(Device device);
  // What attention should look like in the batch handed out last, [B,1,T,S]; empty without alignments.
  Tensor alignment(const Batch& batch, Device device) const;
  int64_t batches() const { return batcher_->batches(); }  // of this epoch
  Batcher::State state() const { return batcher_->state(); }
  void set_state(Batcher::State state);

  const ParallelCorpus& valid() const { return valid_; }             // for the loss
  const ParallelLines& valid_lines() const { return valid_lines_; }  // to decode

 private:
  void read(const DataConfig& data, uint64_t seed);
  void make_vocabularies(const Recipe& recipe);
  void cut(int64_t epoch);

  CorpusOptions filter_;
  BatchOptions options_;
  uint64_t seed_;
  ParallelLines lines_, valid_lines_;
  std::shared_ptr<const Vocabulary> source_, target_;
  ParallelCorpus train_, valid_;
  std::optional<Batcher> batcher_;
  std::optional<Alignments> alignments_;
  std::vector<std::string> messages_;
};

}  // namespace fovea
