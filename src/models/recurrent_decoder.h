// Recurrent decoders. An architecture says what one step computes and how its features become logits; the loop over a
// known target, and decoding, are the same for all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/decoder.h"
#include "models/heads.h"
#include "models/sentinel.h"
#include "nn/recurrent.h"

namespace fovea {

// The first states of the decoder's layers: tanh(W h), h the final state of the encoder's layer at the same height or
// of its top layer (Bahdanau et al. 2015, appendix A.2.2). An encoder without such states gives the mean of all its
// states for h (Xu et al. 2015, section 3.1.2).
class Bridge {
 public:
  Bridge(Parameters& parameters, const ModelConfig& config, const Encoder& encoder);
  std::vector<State> operator()(const Encoded& encoded) const;

 private:
  std::vector<Linear> state_, cell_state_;  // one for each layer; the latter for LSTM only
};

// A stack of cells that advances one step. The gates of the lowest cell come from outside, so that the part of them
// that is known for the whole target (of its tokens) is one product; an upper cell reads the state below, after
// dropout.
class DecoderCells {
 public:
  // `feed` is the size of what else enters the lowest cell at each step (a context, an attentional state); 0: nothing.
  DecoderCells(Parameters& parameters, const ModelConfig& config, int64_t feed);
  // The part of the lowest gates that comes from embedded tokens, for one step or all: [...,E] -> [...,G*H].
  Var token_gates(const Var& embedded) const { return cells_[0].input_gates(embedded); }
  // Advances `states` by one step and returns the top state [B,H]. Adds what is fed to `token_gates` in place.
  Var step(const Var& token_gates, const Var& feed, std::vector<State>& states) const;
  // All steps at once, for a decoder that feeds nothing: [T,B,G*H] -> [T,B,H].
  Var unroll(const Var& token_gates, const std::vector<State>& initial) const;

 private:
  ModelConfig config_;
  std::vector<RecurrentCell> cells_;
  std::optional<Linear> feed_;
};

// The cross-attention of a decoder that attends once a step, with the coverage and traces of its steps. Rows are K
// beams of B sentences, k*B+b. The beams of a sentence are several queries to one memory, which is never copied.
class StepAttention {
 public:
  StepAttention() = default;  // for a decoder without attention
  StepAttention(const Attention& attention, Memory memory, const DecodeOptions& options)
      : attention_(&attention),
        memory_(std::move(memory)),
        beams_(options.beams),
        capture_(options.capture),
        edits_(edits_of(options.edits, AttentionKind::kCross, 0)) {}
  // Collects the results of every step, not only those of the last.
  void collect_steps() { collects_ = true; }

  // [K*B,H], and with a sentinel [K*B,D] -> [K*B,D]
  Var attend(const Var& query, const Var& sentinel = {});
  void reorder(const Tensor& rows);
  void select_sentences(const Tensor& sentences);

  // The results of the collected steps: everything of TeacherForced but the logits.
  TeacherForced collected() const;
  // Of the last step.
  const AttentionTrace& last() const { return last_; }

 private:
  const Attention* attention_ = nullptr;
  Memory memory_;
  int64_t beams_ = 1, position_ = 0;
  Capture capture_;
  bool collects_ = false;
  std::vector<AttentionEdit> edits_;
  Var coverage_;
  AttentionTrace last_{AttentionKind::kCross, 0, {}, {}, {}};
  std::vector<Var> weights_, scores_, centers_, sentinels_, sentinel_scores_;
  std::vector<Var> selection_log_probs_, entropies_, coverage_losses_;
};

struct RecurrentState {
  std::vector<State> cells;
  Var feed;           // what enters the next step besides its token, [K*B,D]; absent where nothing does
  Var top;            // the state of the top layer
  Var sentinel_gate;  // with a sentinel: the token's part of its gate at this step, [K*B,H]
};

// What the next token is predicted from: a state, and the context if the state does not contain it. [...,F] each.
struct Features {
  Var state, context;
};

class RecurrentDecoder : public Decoder {
 public:
  TeacherForced teacher_force(const Encoded& encoded, const Tensor& target, Capture capture,
                              std::span<const WeightEdit> edits, const KnownTargets* targets) const final;
  std::unique_ptr<DecoderState> start(const Encoded& encoded, const DecodeOptions& options) const final;
  int64_t max_source() const final { return attention() != nullptr ? attention()->max_keys() : 0; }
  std::vector<AttentionInfo> attentions() const final;

 protected:
  RecurrentDecoder(Parameters& parameters, const ModelConfig& config, const Encoder& encoder, int64_t vocabulary_size);

  // One step: advances the state. The gates [K*B,G*H] belong to this step and may be changed in place.
  virtual Features step(const Var& token_gates, RecurrentState& state, StepAttention& attention) const = 0;
  // All steps at once, [T,B,G*H], for an architecture in which no step depends on the attention of the one before.
  // Empty features: the architecture must go step by step.
  virtual Features all_steps(const Var& token_gates, const std::vector<State>& initial, const Memory* memory,
                             const DecodeOptions& options, TeacherForced& result) const;
  // What the head reads of the features and the embedded previous tokens, [...,E].
  virtual std::vector<Var> head_features(const Features& features, const Var& embedded) const = 0;
  virtual const Attention* attention() const = 0;  // null for an architecture without attention
  const DecoderCells& cells() const { return *cells_; }
  void make_cells(Parameters& parameters, int64_t feed) { cells_.emplace(parameters, config_, feed); }
  void make_sentinel(Parameters& parameters, int64_t depth) {
    if (config_.attention.sentinel) sentinel_.emplace(parameters, config_, depth);
  }
  // The sentinel of a step, whose top layer was in the state `before`; absent in a model without one.
  Var sentinel(const RecurrentState& state, const Var& before) const {
    return sentinel_ ? (*sentinel_)(state.sentinel_gate, before, state.cells.back().cell_state) : Var();
  }
  float dropout_rate() const { return static_cast<float>(config_.dropout); }

  ModelConfig config_;
  Bridge bridge_;
  Embedding embedding_;
  std::unique_ptr<OutputHead> head_;

 private:
  friend class RecurrentDecoderState;
  std::optional<DecoderCells> cells_;
  std::optional<Sentinel> sentinel_;
};

}  // namespace fovea
