// The hypotheses of one sentence: a tree of words, the leaves that go on, and those set aside because they
// ended. All on the host; what the models think of the next words comes from outside.
#pragma once

#include <optional>
#include <vector>

#include "decode/looks.h"
#include "decode/search.h"

namespace fovea {

class Beam {
 public:
  // `row` is the sentence's place in the corpus. The options must outlive it.
  Beam(const SearchOptions& options, int64_t row, int64_t source_length);

  int64_t row() const { return row_; }
  int64_t steps() const { return steps_; }
  bool done() const { return done_; }
  bool live(int64_t k) const { return live_[static_cast<size_t>(k)] != kNone; }
  // What the models are told before the next step: the word beam k last chose and the beam that word came from.
  int32_t word(int64_t k) const { return live(k) ? node(k).word : kEnd; }
  int64_t from(int64_t k) const { return !done_ && live(k) ? node(k).beam : k; }

  // The words one of which must come next; nothing where any may.
  const std::vector<int32_t>* forced() const {
    if (begin_ == nullptr || steps_ >= std::ssize(*begin_)) return nullptr;
    return &(*begin_)[static_cast<size_t>(steps_)];
  }
  // The words that may not come next in beam k: never more than so many.
  const std::vector<int32_t>& banned(int64_t k);

  // One step: what every live beam saw, if that is kept; the likeliest words, if they are asked for; the words it
  // may go on with; then on.
  Looks* looks() { return looks_ ? &*looks_ : nullptr; }
  void note(int64_t k, std::vector<NextWord> likeliest);
  void offer(int64_t k, int32_t word, float log_prob);
  void advance();
  void stop();  // here: what is on its way is set aside

  std::vector<SearchStep> new_steps();         // of the best on the way, since it was last asked
  std::vector<Hypothesis> hypotheses() const;  // best first
  SearchTree tree() const;

 private:
  static constexpr int32_t kNone = -1;
  struct Node {
    int32_t parent, word, beam;  // beam: the one its parent stood in
    float log_prob;
    double total;
    int32_t depth;  // words up to here
  };
  struct Ended {
    int32_t node;
    double score;
    bool ended;
  };

  const Node& node(int64_t k) const { return nodes_[static_cast<size_t>(live_[static_cast<size_t>(k)])]; }
  void take_best();
  void take_drawn();
  int32_t add(const Node& candidate);
  void set_aside(int32_t node, bool ended);
  bool decided() const;
  std::vector<int32_t> way_to(int32_t node) const;  // the nodes after the root, first to last
  std::vector<int32_t> beams_along(int32_t node) const;
  std::vector<Ended> best_ended() const;
  const std::vector<NextWord>& likeliest_at(size_t step, int32_t beam) const {
    return likeliest_[step * live_.size() + static_cast<size_t>(beam)];
  }

  const SearchOptions& options_;
  int64_t row_, longest_, steps_ = 0;
  const ForcedBegin* begin_ = nullptr;
  bool done_ = false;
  std::vector<Node> nodes_, candidates_;                // a candidate's parent is a node
  std::vector<int32_t> live_, before_, banned_, told_;  // told: the nodes of the steps that were asked for
  std::vector<Ended> ended_;
  std::optional<Looks> looks_;
  std::vector<std::vector<NextWord>> likeliest_;  // [steps,K]
};

}  // namespace fovea
