// The hypotheses of one sentence: a tree of tokens with its live leaves and its finished hypotheses. All of it is on
// the host; the candidates for the next tokens come from outside.
#pragma once

#include <optional>
#include <vector>

#include "decode/attention_history.h"
#include "decode/search.h"

namespace fovea {

class Beam {
 public:
  // `row` is the sentence's index in the corpus. The options must outlive the beam.
  Beam(const SearchOptions& options, int64_t row, int64_t source_length);

  int64_t row() const { return row_; }
  int64_t steps() const { return steps_; }
  bool done() const { return done_; }
  bool live(int64_t k) const { return live_[static_cast<size_t>(k)] != kNone; }
  // The input of the models' next step: the last token of beam k, and the beam in which its hypothesis was before.
  int32_t last_id(int64_t k) const { return live(k) ? node(k).id : kEnd; }
  int64_t parent_beam(int64_t k) const { return !done_ && live(k) ? node(k).beam : k; }

  // The ids of the prefix that are allowed in the next step; null where any token is.
  const std::vector<int32_t>* forced_ids() const {
    if (prefix_ == nullptr || steps_ >= std::ssize(*prefix_)) return nullptr;
    return &(*prefix_)[static_cast<size_t>(steps_)];
  }
  // The token ids that must not follow in beam k.
  const std::vector<int32_t>& banned(int64_t k);

  // One step: for each live beam the captured attention weights, the alternatives and the candidates, then advance().
  AttentionHistory* attention_history() { return history_ ? &*history_ : nullptr; }
  void set_alternatives(int64_t k, std::vector<NextToken> alternatives);
  void add_candidate(int64_t k, int32_t id, float log_prob);
  void advance();
  void stop();  // ends the search with the live hypotheses unfinished

  std::vector<SearchStep> new_steps();         // the steps of the best hypothesis that were not returned before
  std::vector<Hypothesis> hypotheses() const;  // best first
  SearchTree tree() const;

 private:
  static constexpr int32_t kNone = -1;
  struct Node {
    int32_t parent, id, beam;  // beam: the one in which the parent was
    float log_prob;
    double total;   // log p of all tokens up to this one
    int32_t depth;  // the number of tokens up to this one
  };
  struct Finished {
    int32_t node;
    double score;
    bool has_end;  // kEnd was generated; otherwise the hypothesis was ended by a limit
  };

  const Node& node(int64_t k) const { return nodes_[static_cast<size_t>(live_[static_cast<size_t>(k)])]; }
  void select_best();
  void select_samples();
  int32_t add(const Node& candidate);
  void finish(int32_t node, bool has_end);
  bool can_stop() const;
  std::vector<int32_t> path_to(int32_t node) const;        // the nodes after the root, first to last
  std::vector<int32_t> beams_on_path(int32_t node) const;  // the beam of each of these nodes
  std::vector<Finished> best_finished() const;
  const std::vector<NextToken>& alternatives_at(size_t step, int32_t beam) const {
    return alternatives_[step * live_.size() + static_cast<size_t>(beam)];
  }

  const SearchOptions& options_;
  int64_t row_, max_length_, steps_ = 0;
  const ForcedPrefix* prefix_ = nullptr;
  bool done_ = false;
  std::vector<Node> nodes_, candidates_;                           // a candidate's parent is a node
  std::vector<int32_t> live_, previous_live_, banned_, reported_;  // reported: the nodes that new_steps() returned
  std::vector<Finished> finished_;
  std::optional<AttentionHistory> history_;
  std::vector<std::vector<NextToken>> alternatives_;  // [steps,K]
};

}  // namespace fovea
