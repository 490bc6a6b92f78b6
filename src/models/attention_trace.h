// What is observed of a model's attentions, and what may be changed in them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "attention/attention.h"
#include "attention/record.h"

namespace fovea {

// The attentions of one kind that a model has: as many as layers, all configured alike.
struct AttentionInfo {
  AttentionKind kind;
  int64_t layers;
  AttentionConfig config;
};

// What one attention computed in a pass, or in one step of decoding.
struct AttentionTrace {
  AttentionKind kind;
  int64_t layer;
  Var weights;                    // [B,H,T,S]; in a step of decoding T is the number of beams
  Var center;                     // local-p: the centres of the windows, [T,B,H]
  Var scores;                     // the scores that the weights were computed from, [B,H,T,S], if they were captured
  Var sentinel, sentinel_scores;  // with a sentinel: its weights, and its scores if captured, [B,H,T,1]
};

// What a model returns of its attentions besides its output. Scores are never captured without weights.
struct Capture {
  bool weights, scores;
  Capture(bool of_weights = false, bool of_scores = false) : weights(of_weights || of_scores), scores(of_scores) {}
};

// Replaces weights in one attention of the model, or in all layers of its kind.
struct WeightEdit {
  AttentionKind kind = AttentionKind::kCross;
  int64_t layer = AttentionEdit::kAll;
  AttentionEdit edit;
};
// The edits that apply to one attention.
std::vector<AttentionEdit> edits_of(std::span<const WeightEdit> edits, AttentionKind kind, int64_t layer);

}  // namespace fovea
