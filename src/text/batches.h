// Batches of sentence pairs of similar length, time-major. Their order depends only on the seed and the epoch, so that
// training can stop after any batch and resume with the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"
#include "text/corpus.h"

namespace fovea {

struct Batch {
  Tensor source;              // i32 [S,B], padded with kPad
  Tensor source_lengths;      // i32 [B], counting kEnd if it is appended
  Tensor target_in;           // i32 [T,B]: kBegin y1 y2 ...; empty if the corpus has no target
  Tensor target_out;          // i32 [T,B]: y1 y2 ... kEnd, padded with kPad
  Tensor target_lengths;      // i32 [B], counting kEnd
  Tensor target_mask;         // f32 [T,B]: 1 for tokens of target_out, 0 for padding
  int64_t target_tokens = 0;  // the sum of target_lengths
  Tensor token_share;         // f32 [1]: 1 / target_tokens, on the device so that a captured CUDA graph can read it
  // Of targets that a model sampled: factors of the losses of the tokens, f32 [T,B], and what is added to the logits,
  // f32 [V], because sampling never takes some tokens. Absent otherwise.
  Tensor target_weights, logit_bias;
  std::vector<int64_t> rows;  // the indices of the pairs in the corpus
  // For a model that copies: then target_out has extended ids, and target_in has kUnknown in their places.
  Tensor copied;           // i32 [B,S]: the source tokens as target ids, padded with kPad
  Tensor generated;        // i32 [T,B]: target_out with kPad in the places of extended ids
  int64_t vocabulary = 0;  // V, the first extended id
  int64_t extended = 0;    // the number of extended ids, rounded up to a multiple of kExtendedMultiple
  // Of inputs that are images, [B,height,width,channels]: then the source has the number of each image, [1,B], and the
  // source lengths count the states that the encoder makes of an image.
  Tensor images;
};

// Decoding has a tensor of V and the extended ids, which should have few different shapes.
constexpr int64_t kExtendedMultiple = 8;

// What a batch for a model that copies needs to know.
struct CopyOptions {
  int64_t vocabulary = 0;  // V; 0 for a model that does not copy
  // The mean rate at which words that a pair has on both sides are hidden: they become extended ids, and the model
  // reads kUnknown in their places, so that it must copy them as if it had never seen them. Drawn by (seed, epoch,
  // pair).
  double hidden = 0;
  uint64_t seed = 1, epoch = 0;
};

struct BatchOptions {
  int64_t tokens = 4096;
  int64_t sentences = 0;
  int64_t multiple = 1;
  bool end_source = true;
  bool reverse_source = false;
  bool shuffle = true;  // otherwise batches are sorted by length, shortest first
  int64_t seed = 1;

  void describe(Fields& fields);
};

Batch make_batch(const CorpusView& corpus, std::span<const int64_t> rows, const BatchOptions& options, Device device,
                 const CopyOptions& copies = {});
// The number of source and target tokens in a batch, padding included.
int64_t padded_tokens(const CorpusView& corpus, std::span<const int64_t> rows, const BatchOptions& options);

class Batcher {
 public:
  struct State {
    int64_t epoch = 0, next = 0;  // the next batch of the epoch
    friend bool operator==(const State&, const State&) = default;
  };

  // The storage behind the view must outlive the batcher. A pair that exceeds the token limit by itself forms a batch
  // of its own.
  Batcher(const CorpusView& corpus, const BatchOptions& options);

  int64_t batches() const { return static_cast<int64_t>(begins_.size()) - 1; }  // per epoch
  // Continues with the next epoch after the last batch of an epoch.
  Batch next(Device device, const CopyOptions& copies = {});
  std::vector<int64_t> next_rows();  // like next(), but returns only the indices of the pairs
  State state() const { return state_; }
  void set_state(State state);

 private:
  void arrange();

  CorpusView corpus_;
  BatchOptions options_;
  std::vector<int64_t> sorted_;  // the pairs, sorted by bucketed length
  std::vector<size_t> begins_;   // batch i is the range [begins_[i], begins_[i + 1]) of rows_
  std::vector<int64_t> rows_;    // sorted_, with the pairs of each bucket shuffled
  std::vector<size_t> order_;    // the order of the batches in this epoch
  State state_;
};

}  // namespace fovea
