// What the recurrent encoder-decoders share: the encoder with the bridge to the decoder's first states, a
// stack of decoder cells that moves one step, and the deep output.
#pragma once

#include <string>
#include <vector>

#include "models/architectures.h"
#include "nn/recurrent.h"

namespace fovea {

Cell cell_named(std::string_view name);

struct EncodedSource {
  Var states;                  // [S,B,D]
  std::vector<State> initial;  // of the decoder, one a layer
};

// Embeds and reads the source; the decoder begins where the reading ended: tanh(W h) of the encoder's last
// states, one for each decoder layer (Bahdanau et al. 2015, appendix A.2.2).
class RecurrentEncoder {
 public:
  RecurrentEncoder(Parameters& parameters, const ModelConfig& config, const VocabularySizes& sizes);
  EncodedSource operator()(const Source& source) const;
  int64_t depth() const { return depth_; }

 private:
  ModelConfig config_;
  int64_t depth_;
  Embedding words_;
  RecurrentStack stack_;
  std::vector<Linear> bridges_, memory_bridges_;  // memory's for LSTM only
};

// Cells on top of one another. The lowest takes gates made outside, so that what is known for the whole
// target (its words) is one product; upper ones take the state below, dropped out and, with residuals,
// added.
class DecoderCells {
 public:
  // `feed` is the depth of what else enters the lowest cell at each step (a context, a fed-back output).
  DecoderCells(Parameters& parameters, const ModelConfig& config, int64_t feed);
  // The words' part of the lowest gates, for one step or all: [...,E] -> [...,G*H].
  Var word_gates(const Var& words) const { return cells_[0].input_gates(words); }
  // One step; `states` move on in place. Returns the top state [B,H].
  // What is fed is added to the gates in place.
  Var step(const Var& word_gates, const Var& feed, std::vector<State>& states) const;
  // All steps at once, when nothing is fed: [T,B,G*H] -> [T,B,H].
  Var unroll(const Var& word_gates, const std::vector<State>& initial) const;

 private:
  ModelConfig config_;
  std::vector<RecurrentCell> cells_;
  std::vector<Linear> feed_;  // none or one
};

// The depth of what words are read from: the embedding's, where its matrix is the output layer's, too.
int64_t output_depth(const ModelConfig& config);

// W tanh(U [features; y]), y the word before (Bahdanau et al. 2015, appendix A.2.2).
class DeepOutput {
 public:
  DeepOutput(Parameters& parameters, const ModelConfig& config, const Embedding& words, int64_t feature_depth,
             int64_t target_words);
  Var operator()(std::initializer_list<Var> seen) const;  // features and words, [...,F] [...,E] -> [...,V]

 private:
  Linear deep_;
  OutputLayer out_;
  float rate_;
};

// Rows of every tensor of a state, picked anew: beam k of sentence b goes on from rows[k,b].
Var pick_rows(const Var& x, const Tensor& rows);
void pick_rows(std::vector<State>& states, const Tensor& rows);
// The rows of some sentences' beams, i32 [K,B']: k*B+b.
Tensor rows_of(const Tensor& sentences, int64_t beams, int64_t batch);
// The part of a memory that is about some sentences.
Memory pick_sentences(const Memory& memory, const Tensor& sentences);
// Each sentence's state once for every beam: [B,...] -> [K*B,...].
Var repeat_rows(const Var& x, int64_t times);

}  // namespace fovea
