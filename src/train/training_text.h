// The text of a run: read or made, cut by vocabularies that are trained here or taken from the run's
// folder, filtered, and handed out batch by batch.
#pragma once

#include <future>
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

  // Goes on to the next batch. It comes in pieces of at most `most` tokens, source, target and padding, or of one
  // pair each; 0 for no limit. divide() makes other pieces of it.
  void next(int64_t most = 0);
  void divide(int64_t most);
  int64_t pieces() const { return taken_.pieces; }
  int64_t pairs() const { return std::ssize(taken_.rows); }
  int64_t piece_tokens() const { return taken_.padded / taken_.pieces; }
  // One of them. Its token_share is that of the whole batch: the pieces' losses add up.
  Batch piece(int64_t index, Device device) const;
  // What attention should look like in a piece of the batch, [B,1,T,S]; empty without alignments.
  Tensor alignment(const Batch& piece, Device device) const;
  int64_t batches() const { return batcher_->batches(); }  // of this epoch
  Batcher::State state() const { return batcher_->state(); }
  void set_state(Batcher::State state);

  const ParallelCorpus& valid() const { return valid_; }             // for the loss
  const ParallelLines& valid_lines() const { return valid_lines_; }  // to decode

 private:
  void read(const Recipe& recipe);
  // Warns of lines whose words are too long for the vocabulary, naming file and line.
  void warn_of_long_words(const ParallelLines& lines, const std::vector<std::string>& files, const Recipe& recipe);
  void make_vocabularies(const Recipe& recipe);
  void cut(int64_t epoch);
  BuiltCorpus cut_lines(int64_t epoch) const;

  CorpusOptions filter_;
  BatchOptions options_;
  uint64_t seed_;
  ParallelLines lines_, valid_lines_;
  std::shared_ptr<const Vocabulary> source_, target_;
  std::shared_ptr<const ParallelCorpus> train_;
  ParallelCorpus valid_;
  std::optional<Batcher> batcher_;
  struct Taken {  // the batch that is handed out; the corpus may be cut anew meanwhile
    std::shared_ptr<const ParallelCorpus> corpus;
    std::vector<int64_t> rows;
    int64_t pieces = 1, padded = 0, tokens = 0;  // tokens: of the target, without padding
  };
  Taken taken_;
  struct Ahead {
    int64_t epoch = -1;
    std::future<BuiltCorpus> corpus;
  };
  Ahead ahead_;  // text that is cut anew in every epoch: that of the next
  std::optional<Alignments> alignments_;
  std::vector<std::string> messages_;
};

}  // namespace fovea
