// The attention weights of all steps and beams of one sentence, from which those of a hypothesis are read: a hypothesis
// moves between beams, so its weights are spread over them.
#pragma once

#include <span>
#include <vector>

#include "decode/search.h"

namespace fovea {

// One attention of a decoding step, or of a teacher-forced target, for a whole batch.
struct HostWeights {
  AttentionKind kind;
  int64_t layer, model;
  Shape shape;  // [B,H,T,S]; in a step T is the number of beams, and decoder self-attention has [K*B,H,1,t+1]
  std::vector<float> weights;
  std::vector<float> centers;                    // local-p and copy: [B,H,T]
  std::vector<float> scores;                     // of the same shape as the weights, if they were captured
  std::vector<float> sentinel, sentinel_scores;  // with a sentinel: [B,H,T]
};
// Appends the traces of one model of an ensemble.
void copy_to_host(std::span<const AttentionTrace> traces, int64_t model, std::vector<HostWeights>& to);

// The weights of one sentence of [B,H,T,S], without padding.
HypothesisWeights slice_sentence(const HostWeights& weights, int64_t sentence, int64_t rows, int64_t columns);

class AttentionHistory {
 public:
  AttentionHistory(int64_t source_length, int64_t beams) : source_length_(source_length), beams_(beams) {}

  // Appends one step of all beams of the sentence, which has index `sentence` in a batch of the given size.
  void append_step(std::span<const HostWeights> step, int64_t sentence, int64_t batch);
  // The weights of a hypothesis; beams[t] is the beam from which its token t was generated.
  std::vector<HypothesisWeights> along_path(std::span<const int32_t> beams) const;
  // The weights of one step of one beam, with one row for each attention. The encoder's are not among them.
  std::vector<HypothesisWeights> at_step(int64_t step, int32_t beam) const;
  // The sum over steps of the weights of each source token, as a mean over cross attentions and heads; empty for a
  // model without cross attention.
  std::vector<double> coverage(std::span<const int32_t> beams) const;

 private:
  // How the weights of one attention are stored in steps_.
  struct Layout {
    AttentionKind kind;
    int64_t layer, model, heads;
    bool has_scores;    // a row of weights is followed by its scores
    bool has_center;    // ... and by the centre of its window
    bool has_sentinel;  // ... and by the weight of its sentinel, and the score of that if it has scores
  };
  // Whether the columns of a decoder's attention are source tokens.
  static bool of_source(AttentionKind kind) { return kind == AttentionKind::kCross || kind == AttentionKind::kCopy; }
  int64_t columns(const Layout& layout, size_t step) const {
    return of_source(layout.kind) ? source_length_ : static_cast<int64_t>(step) + 1;
  }
  int64_t stride(const Layout& layout, size_t step) const {
    return (columns(layout, step) + (layout.has_sentinel ? 1 : 0)) * (layout.has_scores ? 2 : 1) +
           (layout.has_center ? 1 : 0);
  }
  static HypothesisWeights empty_rows(const Layout& layout, int64_t rows, int64_t width);
  // Copies one row, as it is stored in steps_, to row `to` of the weights of a hypothesis.
  static void copy_row(const Layout& layout, const float* from, int64_t count, HypothesisWeights& weights, int64_t to);
  // Calls visit(layout, rows) for each attention, where rows are the [H,stride] floats of that step and beam.
  template <class Visit> void each(size_t step, int64_t beam, Visit&& visit) const;

  int64_t source_length_, beams_;
  std::vector<Layout> layouts_;
  std::vector<std::vector<float>> steps_;  // for each step: attention by attention, [K,H,stride]
  std::vector<HypothesisWeights> encoder_;
};

}  // namespace fovea
