// Batches of sentences of like length, time-major, in an order that depends only on the seed and the
// epoch, so that training can stop after any batch and go on with the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"
#include "text/corpus.h"

namespace fovea {

struct Batch {
  Tensor source;              // i32 [S,B], padded with kPad
  Tensor source_lengths;      // i32 [B], with kEnd where it is added
  Tensor target_in;           // i32 [T,B]: kBegin y1 y2 ...; no tensor when the corpus has no target
  Tensor target_out;          // i32 [T,B]: y1 y2 ... kEnd, padded with kPad
  Tensor target_lengths;      // i32 [B], with kEnd
  int64_t target_tokens = 0;  // the sum of target_lengths
  Tensor token_share;         // f32 [1]: 1 / target_tokens, on the device for a step that is recorded once and repeated
  std::vector<int64_t> rows;  // which pairs of the corpus they are
};

struct BatchOptions {
  int64_t tokens = 4096;
  int64_t sentences = 0;
  int64_t multiple = 1;
  bool end_source = true;
  bool reverse_source = false;
  bool shuffle = true;  // without, the shortest come first
  int64_t seed = 1;

  void describe(Fields& fields);
};

Batch make_batch(const ParallelCorpus& corpus, std::span<const int64_t> rows, const BatchOptions& options,
                 Device device);
// Of the source and of the target of a batch, padding counted.
int64_t padded_tokens(const ParallelCorpus& corpus, std::span<const int64_t> rows, const BatchOptions& options);

class Batcher {
 public:
  struct State {
    int64_t epoch = 0, next = 0;  // the batch that comes next
    friend bool operator==(const State&, const State&) = default;
  };

  // The corpus must outlive it. A sentence that is over the budget alone is a batch alone.
  Batcher(const ParallelCorpus& corpus, const BatchOptions& options);

  int64_t batches() const { return static_cast<int64_t>(cuts_.size()) - 1; }  // of every epoch
  Batch next(Device device);         // after the last of an epoch comes the first of the next
  std::vector<int64_t> next_rows();  // the same, which pairs alone
  State state() const { return state_; }
  void set_state(State state);

 private:
  void arrange();

  const ParallelCorpus& corpus_;
  BatchOptions options_;
  std::vector<int64_t> sorted_;  // pairs by length
  std::vector<size_t> cuts_;     // batch i is [cuts_[i], cuts_[i + 1]) of them
  std::vector<int64_t> rows_;    // the same, shuffled among pairs of like length
  std::vector<size_t> order_;    // of the batches
  State state_;
};

}  // namespace fovea
