// Recurrent layers over whole sequences, stacked and in one or both directions, and the single cell for loops written
// by hand. Cells: tanh, GRU (Cho et al. 2014, with the reset gate applied after the product, as in cuDNN), LSTM
// (Hochreiter & Schmidhuber 1997, with a forget gate).
#pragma once

#include <string>
#include <vector>

#include "nn/layers.h"

namespace fovea {

// One step: gates from the input and from the state, then the cell.
class RecurrentCell {
 public:
  RecurrentCell(Parameters& parameters, const std::string& name, Cell cell, int64_t in, int64_t hidden);

  // The input's part of the gates, for one step [B,in] or for all steps at once [T,B,in].
  Var input_gates(const Var& x) const { return input_(x); }
  // One step, from the input's part of the gates [B,G*H].
  State step(const Var& x_gates, const State& before) const;
  // The whole sequence, from the input's part of the gates [T,B,G*H] or from the input itself [T,B,in].
  Unrolled unroll_gates(const Var& x_gates, const State& initial, const Tensor& lengths, bool reverse) const;
  Unrolled unroll(const Var& x, const State& initial, const Tensor& lengths, bool reverse) const;
  // Two directions over x: this cell forwards and `reversed` backwards, concurrently on a card.
  std::pair<Unrolled, Unrolled> unroll_bidirectional(const RecurrentCell& reversed, const Var& x,
                                                     const Tensor& lengths) const;
  State zero_state(int64_t batch, DType dtype, Device device) const;
  int64_t hidden() const { return hidden_; }

 private:
  Cell cell_;
  int64_t hidden_;
  Linear input_;                     // [G*H,in]
  const Parameter *weight_, *bias_;  // [G*H,H], [G*H]
};

struct RecurrentOptions {
  Cell cell = Cell::kGru;
  int64_t layers = 1;
  bool bidirectional = false;
  float dropout = 0.0f;   // between layers; the same mask at every step
  bool residual = false;  // a layer above the first adds its input to its output
};

class RecurrentStack {
 public:
  RecurrentStack(Parameters& parameters, const std::string& name, int64_t in, int64_t hidden,
                 const RecurrentOptions& options);
  // x [T,B,in], lengths i32 [B] or absent -> [T,B,H], or [T,B,2H] in both directions. `final`, if given, receives the
  // last states: layer 0 forward, layer 0 backward, layer 1 ... A caller that passes the same vector again avoids
  // allocations.
  Var operator()(const Var& x, const Tensor& lengths = {}, std::vector<State>* final = nullptr) const;

 private:
  RecurrentOptions options_;
  std::vector<RecurrentCell> cells_;
};

}  // namespace fovea
