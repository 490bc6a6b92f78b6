// The data of a text-to-text run: lines that are read or generated, vocabularies that are trained or loaded from the
// run's folder, and the tokenised and filtered corpus, batch by batch.
#pragma once

#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "recipe/recipe.h"
#include "store/pretrained_weights.h"
#include "tasks/batch_rows.h"
#include "tasks/corpus_mixture.h"
#include "tasks/dialogue_data.h"
#include "tasks/sequence_alignments.h"
#include "tasks/task.h"

namespace fovea {

class SequenceData {
 public:
  // Vocabularies that the setup does not know are trained.
  explicit SequenceData(const TaskSetup& setup);

  const std::shared_ptr<const Vocabulary>& source() const { return source_; }
  const std::shared_ptr<const Vocabulary>& target() const { return target_; }
  ParallelCorpus train() const;  // the training pairs, tokenised as in decoding: without subword sampling
  // Of a run that extends the vocabularies of its pretrained model.
  const std::vector<ExtendedRows>& extended_rows() const { return extended_rows_; }
  const std::vector<std::string>& messages() const { return messages_; }  // reports and warnings

  // Reads the next batch. split() divides it into parts of at most `max_tokens` tokens, source, target and padding
  // counted, or of one pair each; 0 stands for no limit. It returns the number of parts.
  void next();
  int64_t split(int64_t max_tokens) { return batch_.split(max_tokens); }
  // The size of a part in tokens; 0 if every part is one pair.
  int64_t part_tokens() const { return batch_.part_tokens(); }
  // A part on the device. Its token_share is that of the whole batch, so that the losses of the parts add up.
  Batch part(int64_t index, Device device) const;
  // The attention weights that guide a part of the batch, [B,1,T,S]; empty without alignments.
  Tensor alignment(const Batch& part, Device device) const;
  int64_t batches() const { return batcher_->batches(); }  // of this epoch
  Batcher::State state() const { return batcher_->state(); }
  void set_state(Batcher::State state);

  // Validation pairs that are longer than the model allows do not count for the loss; 0 stands for no limit.
  void tokenise_valid(int64_t max_source, int64_t max_target);
  const ParallelCorpus& valid() const { return valid_; }                                       // for the loss
  CopyOptions copies() const { return {.vocabulary = copies_ ? copies_->target_size() : 0}; }  // of a model that copies
  const ParallelLines& valid_lines() const { return valid_lines_; }                            // to decode, all of them

 private:
  void read(const Recipe& recipe);
  DialoguePairs read_corpora(const std::vector<std::string>& files, std::string_view key, const Recipe& recipe,
                             std::vector<int32_t>& corpora);
  // Warns of lines whose words are too long for the vocabulary, naming file and line.
  void warn_of_long_words(const ParallelLines& lines, const std::vector<std::string>& files, const Recipe& recipe);
  void train_vocabularies(const Recipe& recipe);
  void extend_vocabularies(int64_t most);
  BuiltCorpus tokenise(int64_t epoch) const;
  FilterReport start_epoch(int64_t epoch);  // with subword sampling, each epoch is tokenised anew
  // Of several corpora with weights: which pairs epochs have, that as text, and the batches of one epoch.
  CorpusMixture mixture() const;
  std::string mixture_text(const std::vector<std::string>& files) const;
  void mix_epoch(int64_t epoch);
  bool epochs_differ() const { return filter_.sampling > 0 || !weights_.empty(); }

  CorpusOptions filter_;
  BatchOptions options_;
  uint64_t seed_;
  ParallelLines lines_, valid_lines_;
  std::vector<int32_t> corpus_of_line_;  // of lines_, from 0
  std::vector<double> weights_;          // of the corpora; empty if their pairs are used as they are
  std::shared_ptr<const Vocabulary> source_, target_;
  std::optional<CopyTable> copies_;  // for a model that copies
  double hide_copied_;
  int64_t guided_delay_;
  std::shared_ptr<const ParallelCorpus> train_;
  // Of several corpora with weights: the rows of train_ that the epoch has, and their ids.
  struct EpochRows {
    std::vector<int64_t> rows;
    std::vector<std::span<const int32_t>> source, target, copied;
  };
  EpochRows epoch_rows_;
  ParallelCorpus valid_;
  std::optional<Batcher> batcher_;
  BatchRows batch_;
  std::shared_ptr<const ParallelCorpus> batch_corpus_;  // of the batch's epoch, which may be over
  int64_t batch_target_tokens_ = 0;                     // without padding
  struct NextEpoch {
    int64_t epoch = -1;
    std::future<BuiltCorpus> corpus;
  };
  NextEpoch next_epoch_;  // with subword sampling: tokenised by another thread while this epoch is trained on
  std::optional<Alignments> alignments_;
  std::vector<ExtendedRows> extended_rows_;
  std::vector<std::string> messages_;
};

}  // namespace fovea
