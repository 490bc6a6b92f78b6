// A decoder predicts a target token by token from the states of an encoder: a known target in one pass (teacher
// forcing), an unknown one step by step.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "models/encoder.h"

namespace fovea {

// The tokens that a known target predicts. Given these, a model that copies computes their losses without the
// distribution over the vocabulary.
struct KnownTargets {
  Tensor ids;        // i32 [T,B]; may have extended ids
  Tensor generated;  // i32 [T,B]: the same with `ignore` in the places of extended ids; absent: there are none
  float smoothing = 0.0f;
  int32_t ignore = -1;
};

// The predictions for a known target.
struct TeacherForced {
  Var logits;                              // [T,B,V], V with the extended ids; absent if there are losses
  Var losses;                              // [T,B]: of known targets, by a model that copies
  Var selection_log_prob, entropy;         // [T,B]: of hard selections that are trained by REINFORCE
  Var coverage_loss;                       // [T-1,B]: with coverage, sum of min(weights, coverage) from the second step
  std::vector<AttentionTrace> attentions;  // if they were captured
};

struct DecodeOptions {
  int64_t beams = 1;
  int64_t longest = 256;  // the largest number of steps
  Capture capture;
  std::vector<WeightEdit> edits;
  // The target tokens that logits are computed of, in this order; empty: all. Not for a model that copies.
  std::vector<int32_t> vocabulary;
};

// The state of decoding B sentences with K beams each: caches, recurrent states. Row k*B+b is beam k of sentence b.
// The tensors that one call allocates are read until the call after the next, so a caller may alternate between two
// arenas. Tensors that select_sentences() allocates are read until decoding ends.
class DecoderState {
 public:
  virtual ~DecoderState() = default;
  // A copy that continues from here. Tensors are shared until one of the two advances.
  virtual std::unique_ptr<DecoderState> clone() const = 0;
  // The tokens chosen last, i32 [K,B] -> logits of the next ones, [K,B,V], V with the extended ids, or the size of
  // DecodeOptions::vocabulary. An extended id is passed as kUnknown.
  virtual Var step(const Tensor& tokens) = 0;
  // Beam k of sentence b continues from row rows[k,b]. i32 [K,B].
  virtual void reorder(const Tensor& rows) = 0;
  // Only these sentences continue, in this order: i32 [B'] of 0..B-1.
  virtual void select_sentences(const Tensor& sentences) = 0;
  // Of the last step, if they were captured; after the first step those of the encoder come first.
  virtual std::vector<AttentionTrace> attentions() const = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  // target [T,B]: the tokens before each predicted one, starting with the begin mark.
  virtual TeacherForced teacher_force(const Encoded& encoded, const Tensor& target, Capture capture,
                                      std::span<const WeightEdit> edits, const KnownTargets* targets) const = 0;
  virtual std::unique_ptr<DecoderState> start(const Encoded& encoded, const DecodeOptions& options) const = 0;
  virtual int64_t max_source() const { return 0; }  // the longest source it can attend to; 0 for no limit
  virtual int64_t max_target() const { return 0; }  // the longest target, its end mark counted; 0 for no limit
  virtual std::vector<AttentionInfo> attentions() const { return {}; }
};

// The smaller of two limits, of which 0 means none.
inline int64_t smaller_limit(int64_t a, int64_t b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

}  // namespace fovea
