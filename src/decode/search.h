// Search for the likeliest target, written once over every model: greedy, beams and sampling, one model or
// several that vote. Ids in, ids out. And forced decoding: what the models give to targets that are known.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "models/model.h"
#include "text/batches.h"

namespace fovea {

struct NextWord {
  int32_t word;
  float log_prob;
  friend bool operator==(const NextWord&, const NextWord&) = default;
};

// One attention of a model, over a whole hypothesis and without padding. A source's end mark has a column.
struct HypothesisWeights {
  AttentionTrace::Kind kind;
  int64_t layer, heads, rows, columns;
  std::vector<float> weights;  // [H,rows,columns]; decoder self attention: row t has t+1 columns, then zeros
  int64_t model = 0;           // of an ensemble
  std::vector<float> centers;  // local-p: where the windows stand, [H,rows]
  int64_t first_row = 0;       // the step of the first row
  std::vector<float> scores;   // of the same shape as the weights, if they were kept
};

// A word of a sentence's best hypothesis on the way, or of the one that ended, if none is left. Each is told once;
// where another hypothesis has become the best, its words follow from the first that differs: the steps before that
// stay.
struct SearchStep {
  int64_t step = 0;  // from 0
  int32_t word = 0;  // kEnd counted
  float log_prob = 0;
  std::vector<NextWord> alternatives;      // if they are asked for
  std::vector<HypothesisWeights> weights;  // of this step, a row each, if they are kept
};

// Every continuation that entered the beam. The first is the begin mark; parents come before their children.
struct SearchTree {
  struct Node {
    int32_t parent, word;  // the root's parent is -1
    float log_prob;
    double total;  // log p of all words up to here
    int64_t step;  // words before it
    bool kept;     // on the way to a hypothesis that is returned
    bool ended;    // it is the end mark
  };
  std::vector<Node> nodes;
};

// Looks on while a search runs. Sentences are numbered as they were given.
class SearchWatcher {
 public:
  virtual ~SearchWatcher() = default;
  // Asked after every step: a sentence that does not go on stops where it is.
  virtual bool goes_on(int64_t /*sentence*/) { return true; }
  virtual bool wants_steps(int64_t /*sentence*/) { return false; }
  virtual void step(int64_t /*sentence*/, const SearchStep& /*step*/) {}
  virtual bool wants_tree(int64_t /*sentence*/) { return false; }
  virtual void tree(int64_t /*sentence*/, const SearchTree& /*tree*/) {}
};

// How a target must begin: for each of its first steps the words that may come; the likeliest of them does.
using ForcedBegin = std::vector<std::vector<int32_t>>;

struct SearchOptions {
  int64_t beam = 1;
  int64_t nbest = 1;
  double length_penalty = 0.6;
  double coverage_penalty = 0;
  int64_t no_repeat_ngram = 0;
  int64_t min_length = 0;
  int64_t max_length = 256;
  double max_ratio = 10;
  bool sample = false;
  double temperature = 1;
  int64_t top_k = 0;
  double top_p = 1;
  int64_t seed = 1;
  // What a hypothesis brings along; no settings of a search.
  int64_t alternatives = 0;
  bool capture_weights = false;
  bool capture_scores = false;  // of attention, with the weights
  // Experiments: what targets begin with, none or one for each sentence; and other weights, for every sentence.
  std::vector<ForcedBegin> begins;
  std::vector<WeightEdit> edits;
  SearchWatcher* watcher = nullptr;
  // Whether the models' weights stay as they are as long as the models live: then a card's steps are recorded.
  bool weights_stay = false;

  void describe(Fields& fields);
};

struct Hypothesis {
  std::vector<int32_t> words;    // without kEnd
  std::vector<float> log_probs;  // of the words, and of kEnd if it ended
  double log_probability = 0;    // their sum
  double score = 0;              // log p / ((5+n)/6)^alpha + beta sum_s log(min(sum_t a_ts, 1)) (Wu et al. 2016)
  bool ended = false;            // by itself, not at the limit of its length
  std::vector<std::vector<NextWord>> alternatives;  // for each of log_probs the likeliest words, if asked for
  std::vector<HypothesisWeights> weights;           // a row for each of log_probs; encoder self: of the source
};

// The hypotheses of each sentence, best first: those that ended, then those cut at the limit, each by score.
//
// A beam takes the best continuations of its K live hypotheses; what ended among them, before K went on, is set
// aside. A sentence is done when K have ended, or when no live one can still come among the `nbest`: its log p
// only falls, and the length penalty cannot forgive more than at the longest length allowed. So a beam of 1 is
// greedy. Samples are drawn with random numbers of (seed, sentence, sample, step): however sentences are batched,
// they are the same.
//
// `batches` says how many are decoded together and how sources are written; nothing is shuffled. `done` is told,
// after each batch, how many sentences are finished.
std::vector<std::vector<Hypothesis>> search(std::span<const EncoderDecoder* const> models, const CorpusView& sources,
                                            const BatchOptions& batches, const SearchOptions& options, Device device,
                                            const std::function<void(int64_t)>& done = {});

struct ScoreOptions {
  bool capture_weights = false;
  bool capture_scores = false;  // of attention, with the weights
  int64_t alternatives = 0;
  std::vector<WeightEdit> edits;  // for every pair
};

// What the models give to the corpus's own targets, pair by pair: hypotheses that end, with log p for their score.
std::vector<Hypothesis> score(std::span<const EncoderDecoder* const> models, const CorpusView& pairs,
                              const BatchOptions& batches, const ScoreOptions& options, Device device,
                              const std::function<void(int64_t)>& done = {});

}  // namespace fovea
