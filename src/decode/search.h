// Search for the most likely target, written once for all models: greedy search, beam search and sampling, with one
// model or an ensemble. Token ids in, token ids out. Also teacher forcing: the probabilities of given targets.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/model.h"
#include "text/batches.h"

namespace fovea {

class Shortlist;

struct NextToken {
  int32_t id;
  float log_prob;
  friend bool operator==(const NextToken&, const NextToken&) = default;
};

// The weights of one attention over a whole hypothesis, without padding. The end mark of the source has a column.
struct HypothesisWeights {
  AttentionKind kind;
  int64_t layer, heads, rows, columns;
  std::vector<float> weights;  // [H,rows,columns]; decoder self-attention: row t has t+1 columns, then zeros
  int64_t model = 0;           // index in the ensemble
  std::vector<float> centers;  // local-p: the centres of the windows; copy: the probability of copying. [H,rows]
  int64_t first_row = 0;       // the decoding step of the first row
  std::vector<float> scores;   // of the same shape as the weights, if they were captured
  // With a sentinel: its weights, which the rows lack to 1, and its scores if captured. [H,rows]
  std::vector<float> sentinel, sentinel_scores;
};

// One token of a sentence's currently best hypothesis: the best live one or, if none is live, the best finished one.
// Each token is reported once. When another hypothesis becomes the best, its tokens are reported from the first that
// differs; the steps before that one stay valid.
struct SearchStep {
  int64_t step = 0;  // from 0
  int32_t id = 0;    // may be kEnd
  float log_prob = 0;
  std::vector<NextToken> alternatives;     // if they were asked for
  std::vector<HypothesisWeights> weights;  // of this step, with one row each, if they were captured
};

// Every continuation that entered the beam. The first node is the begin mark; parents precede their children.
struct SearchTree {
  struct Node {
    int32_t parent, id;  // the root's parent is -1
    float log_prob;
    double total;    // log p of all tokens up to this one
    int64_t step;    // the number of tokens before this one, the begin mark included
    bool in_result;  // part of a hypothesis that is returned
    bool is_end;     // the token is the end mark
  };
  std::vector<Node> nodes;
};

// Observes a running search, on one thread at a time. Sentences are numbered in the order in which they were given.
class SearchWatcher {
 public:
  virtual ~SearchWatcher() = default;
  // Asked after every step: a sentence for which it returns false stops with the hypotheses found so far.
  virtual bool should_continue(int64_t /*sentence*/) { return true; }
  virtual bool wants_steps(int64_t /*sentence*/) { return false; }
  virtual void step(int64_t /*sentence*/, const SearchStep& /*step*/) {}
  virtual bool wants_tree(int64_t /*sentence*/) { return false; }
  virtual void tree(int64_t /*sentence*/, const SearchTree& /*tree*/) {}
};

// Images that are read in place of source tokens.
class ImageSource {
 public:
  virtual ~ImageSource() = default;
  virtual Tensor images(std::span<const int32_t> numbers, Device device) const = 0;  // [B,height,width,channels]
  virtual int64_t states() const = 0;  // the number of states that an encoder makes of an image
};
// Adds the images that the source tokens of the batch are the numbers of.
void add_images(Batch& batch, const ImageSource& images);

// The beginning of a target: for each of its first steps the allowed token ids, of which the most likely is taken.
using ForcedPrefix = std::vector<std::vector<int32_t>>;

struct SearchOptions {
  int64_t beam = 1;
  int64_t nbest = 1;
  double length_penalty = 0.6;
  double coverage_penalty = 0;
  int64_t no_repeat_ngram = 0;
  int64_t min_length = 0;
  int64_t max_length = 256;
  double max_ratio = 10;
  bool allow_unknown = false;
  bool sample = false;
  double temperature = 1;
  int64_t top_k = 0;
  double top_p = 1;
  int64_t seed = 1;
  // What is returned with a hypothesis; these do not change the search.
  int64_t alternatives = 0;      // the most likely tokens of each step, so many
  bool capture_weights = false;  // of attention
  bool capture_scores = false;   // of attention, with the weights
  // Interventions: a prefix for each sentence, or none at all; and edited attention weights, for every sentence.
  std::vector<ForcedPrefix> prefixes;
  std::vector<WeightEdit> edits;
  SearchWatcher* watcher = nullptr;
  const ImageSource* images = nullptr;  // the source tokens are numbers of these images
  // Restricts each sentence to target tokens that may translate it, on a CPU; the tokens of its prefix are added. Null:
  // none. Log-probabilities are of the softmax over a sentence's list.
  const Shortlist* shortlist = nullptr;
  // Promises that the models' weights never change, so that decoding steps may be captured as CUDA graphs.
  bool constant_weights = false;

  void describe(Fields& fields);
};

struct Hypothesis {
  std::vector<int32_t> ids;      // without kEnd; of a model that copies, extended ids too
  std::vector<float> log_probs;  // of each token, and of kEnd if the hypothesis is finished
  double log_probability = 0;    // the sum of log_probs
  double score = 0;              // log p / ((5+n)/6)^alpha + beta sum_s log(min(sum_t a_ts, 1)) (Wu et al. 2016)
  bool finished = false;         // it ends with kEnd; otherwise it reached the maximum length or was stopped
  std::vector<std::vector<NextToken>> alternatives;  // for each of log_probs the most likely tokens, if asked for
  std::vector<HypothesisWeights> weights;            // a row for each of log_probs; encoder self: for the source
};

// Returns the hypotheses of each sentence, best first: the finished ones, then the unfinished ones, each by score.
//
// In each step, a beam goes through the continuations of its K live hypotheses from the best to the worst, until K of
// them are selected; a continuation by kEnd that it meets on the way is a finished hypothesis. The search for a
// sentence stops when K hypotheses are finished, or when no live one can still become one of the `nbest`: its log p
// only falls, and the length penalty is bounded by that of the maximum length. So a beam of 1 is greedy search. Samples
// use random numbers of (seed, sentence, sample, step), so they do not depend on how sentences are batched.
//
// For models that copy, the corpus has copied ids and `copies` is the size of the target vocabulary.
//
// `batches` gives the batch sizes and the conventions of the source; nothing is shuffled. `done` receives the number of
// finished sentences after each batch. On a CPU, several batches are decoded at the same time, the longest first; the
// watcher and `done` are called by one thread at a time. Results do not depend on the number of threads.
std::vector<std::vector<Hypothesis>> search(std::span<const EncoderDecoder* const> models, const CorpusView& sources,
                                            const BatchOptions& batches, const SearchOptions& options, Device device,
                                            const std::function<void(int64_t)>& done = {}, int64_t copies = 0);

// The hypotheses of the sentences of a finished batch.
using FinishedBatch = std::function<void(std::span<const int64_t> sentences, std::span<std::vector<Hypothesis>> found)>;
// The same search. Each batch is passed to `finished` by the thread that decoded it, while others are being decoded.
void search_batches(std::span<const EncoderDecoder* const> models, const CorpusView& sources,
                    const BatchOptions& batches, const SearchOptions& options, Device device,
                    const FinishedBatch& finished, int64_t copies = 0);

struct ScoreOptions {
  bool capture_weights = false;  // of attention
  bool capture_scores = false;   // of attention, with the weights
  int64_t alternatives = 0;
  std::vector<WeightEdit> edits;        // for every pair
  const ImageSource* images = nullptr;  // as in SearchOptions
};

// Returns the corpus's own targets as finished hypotheses, scored by their log p. Batches, threads and `done` as in
// search().
std::vector<Hypothesis> score(std::span<const EncoderDecoder* const> models, const CorpusView& pairs,
                              const BatchOptions& batches, const ScoreOptions& options, Device device,
                              const std::function<void(int64_t)>& done = {}, int64_t copies = 0);

}  // namespace fovea
