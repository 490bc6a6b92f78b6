// The recurrent encoder-decoders. An architecture says what one step does and how its features become
// words; the loop over a given target, and decoding, are the same for all.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/recurrent_parts.h"

namespace fovea {

// Attends once a step and remembers what that leaves behind. Rows are K beams of B sentences, k*B+b; the
// beams of a sentence are several queries to one memory, which is never copied.
class StepAttention {
 public:
  StepAttention() = default;  // a model without attention
  StepAttention(const Attention& attention, Memory memory, const DecodeOptions& options)
      : attention_(&attention),
        memory_(std::move(memory)),
        beams_(options.beams),
        capture_(options.capture),
        edits_(edits_of(options.edits, AttentionTrace::Kind::kCross, 0)) {}
  // Remembers what every step leaves behind, not the last alone.
  void gather() { gathers_ = true; }

  Var attend(const Var& query);  // [K*B,H] -> [K*B,D]
  void reorder(const Tensor& rows);
  void select_sentences(const Tensor& sentences);

  // Of the steps gathered: what a forced target's result holds besides its logits.
  TeacherForced taken() const;
  // Of the last step; no weights where none were made.
  AttentionTrace last() const { return {AttentionTrace::Kind::kCross, 0, last_weights_, last_center_, last_scores_}; }

 private:
  const Attention* attention_ = nullptr;
  Memory memory_;
  int64_t beams_ = 1, position_ = 0;
  Capture capture_;
  bool gathers_ = false;
  std::vector<AttentionEdit> edits_;
  Var coverage_, last_weights_, last_center_, last_scores_;
  std::vector<Var> weights_, scores_, centers_, selection_log_probs_, entropies_, coverage_losses_;
};

struct RecurrentState {
  std::vector<State> cells;
  Var feed;  // what the next step is fed besides its word: [K*B,D], if anything
  Var top;   // the topmost state
};

// What the next word is read from: a state, and what it attended to, if that is not in it already. [...,F] each.
struct Features {
  Var state, context;
};

class RecurrentModel : public Model {
 public:
  TeacherForced teacher_force(const Source& source, const Tensor& target, Capture capture,
                              std::span<const WeightEdit> edits) const final;
  std::unique_ptr<DecoderState> decode(const Source& source, const DecodeOptions& options) const final;

 protected:
  RecurrentModel(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes);

  // One step: moves the state on. The gates [K*B,G*H] are the step's own and may be changed.
  virtual Features step(const Var& word_gates, RecurrentState& state, StepAttention& attention) const = 0;
  // All steps at once, [T,B,G*H], where no step waits for what the last one attended to. Nothing for a model that must
  // go step by step.
  virtual Features all_steps(const Var& word_gates, const EncodedSource& encoded, const Memory* memory,
                             const DecodeOptions& options, TeacherForced& result) const;
  // Features and the words before, [...,E] -> [...,V]
  virtual Var read(const Features& features, const Var& words) const = 0;
  virtual const Attention* attention() const { return nullptr; }
  const DecoderCells& cells() const { return *cells_; }
  // feed: the depth of what enters the lowest cell besides the word, 0 for nothing.
  void make_cells(Parameters& parameters, int64_t feed) { cells_.emplace(parameters, config_, feed); }
  float rate() const { return static_cast<float>(config_.dropout); }

  ModelConfig config_;
  RecurrentEncoder encoder_;
  Embedding words_;

 private:
  friend class RecurrentDecoder;
  std::optional<DecoderCells> cells_;
};

}  // namespace fovea
