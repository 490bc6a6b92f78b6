// What the words of one sentence looked at: the weights of every step and beam, kept as they came and read
// along a hypothesis's way back.
#pragma once

#include <span>
#include <vector>

#include "decode/search.h"

namespace fovea {

// One attention of a step or of a forced target, for a whole batch.
struct HostWeights {
  AttentionTrace::Kind kind;
  int64_t layer, model;
  Shape shape;  // [B,H,T,S]; in a step T counts the beams, and self attention has [K*B,H,1,t+1]
  std::vector<float> weights;
  std::vector<float> centers;  // local-p: [B,H,T]
  std::vector<float> scores;   // like the weights, if they were kept
};
void bring_to_host(std::span<const AttentionTrace> taken, int64_t model, std::vector<HostWeights>& to);

// Sentence b of [B,H,T,S], without padding.
HypothesisWeights cut(const HostWeights& weights, int64_t sentence, int64_t rows, int64_t columns);

class Looks {
 public:
  Looks(int64_t source_length, int64_t beams) : source_length_(source_length), beams_(beams) {}

  // One step of all beams of a sentence, which stands at `sentence` of a batch of so many.
  void take(std::span<const HostWeights> step, int64_t sentence, int64_t batch);
  // Those of a hypothesis: `beams` are the ones its words came from, first to last.
  std::vector<HypothesisWeights> along(std::span<const int32_t> beams) const;
  // Those of one step of one beam, a row each.
  std::vector<HypothesisWeights> row(int64_t step, int32_t beam) const;
  // How much each source word was looked at in all, the mean over cross attentions and heads; empty without any.
  std::vector<double> coverage(std::span<const int32_t> beams) const;

 private:
  struct Taken {
    AttentionTrace::Kind kind;
    int64_t layer, model, heads;
    bool scored;    // a row of weights is followed by its scores
    bool centered;  // ... and by where its window stands
  };
  int64_t columns(const Taken& taken, size_t step) const {
    return taken.kind == AttentionTrace::Kind::kCross ? source_length_ : static_cast<int64_t>(step) + 1;
  }
  int64_t stride(const Taken& taken, size_t step) const {
    return columns(taken, step) * (taken.scored ? 2 : 1) + (taken.centered ? 1 : 0);
  }
  // Calls visit(attention, its rows [H,stride] of that step and beam).
  template <class Visit> void each(size_t step, int64_t beam, Visit&& visit) const;

  int64_t source_length_, beams_;
  std::vector<Taken> taken_;
  std::vector<std::vector<float>> steps_;  // for each step: attention by attention, [K,H,stride]
  std::vector<HypothesisWeights> encoder_;
};

}  // namespace fovea
