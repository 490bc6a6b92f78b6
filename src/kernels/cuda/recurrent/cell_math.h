// The equations of one unit of a recurrent cell, forward and backward. kernels.h documents them.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Calls body with the cell as an integral constant.
template <class Body> void with_cell(Cell cell, Body&& body) {
  switch (cell) {
    case Cell::kTanh: return body(std::integral_constant<Cell, Cell::kTanh>());
    case Cell::kGru: return body(std::integral_constant<Cell, Cell::kGru>());
    case Cell::kLstm: return body(std::integral_constant<Cell, Cell::kLstm>());
  }
}

// ---- the equations, on values ------------------------------------------------------------------

struct CellResult {
  float state, cell_state;
  float saved[4];
};
// `in` and `own` are the gate projections of the input and of the state.
template <Cell kCell>
__device__ CellResult step_values(const float (&in)[gates_of(kCell)], const float (&own)[gates_of(kCell)], float state,
                                  float cell_state) {
  if constexpr (kCell == Cell::kTanh) {
    return {.state = tanhf(in[0] + own[0])};
  } else if constexpr (kCell == Cell::kGru) {
    const float r = sigmoid(in[0] + own[0]), z = sigmoid(in[1] + own[1]), c = tanhf(in[2] + r * own[2]);
    return {.state = (1.0f - z) * c + z * state, .saved = {r, z, c, own[2]}};
  } else {
    const float i = sigmoid(in[0] + own[0]), f = sigmoid(in[1] + own[1]);
    const float g = tanhf(in[2] + own[2]), o = sigmoid(in[3] + own[3]);
    const float after = f * cell_state + i * g;
    return {.state = o * tanhf(after), .cell_state = after, .saved = {i, f, g, o}};
  }
}

// The values that the gradient of a step reads: `state` for gru, `new_state` for tanh, both cell states for lstm.
struct CellPast {
  float state, cell_state, new_state, new_cell_state;
  float saved[4];
};
template <Cell kCell> struct CellGradient {
  float dx[gates_of(kCell)], dh[gates_of(kCell)];
  float dstate = 0.0f, dcell_state = 0.0f;  // without the contribution through the weight
};
template <Cell kCell>
__device__ CellGradient<kCell> step_back_values(const CellPast& x, float dnew, float dcell_state) {
  CellGradient<kCell> d;
  if constexpr (kCell == Cell::kTanh) {
    d.dx[0] = d.dh[0] = dnew * (1.0f - x.new_state * x.new_state);
  } else if constexpr (kCell == Cell::kGru) {
    const float r = x.saved[0], z = x.saved[1], c = x.saved[2], hn = x.saved[3];
    const float dn = dnew * (1.0f - z) * (1.0f - c * c);  // gradient of the argument of the tanh of n
    d.dx[0] = d.dh[0] = dn * hn * r * (1.0f - r);
    d.dx[1] = d.dh[1] = dnew * (x.state - c) * z * (1.0f - z);
    d.dx[2] = dn;
    d.dh[2] = dn * r;
    d.dstate = dnew * z;
  } else {
    const float i = x.saved[0], f = x.saved[1], g = x.saved[2], o = x.saved[3], tanh_c = tanhf(x.new_cell_state);
    const float dc = dcell_state + dnew * o * (1.0f - tanh_c * tanh_c);
    d.dx[0] = d.dh[0] = dc * g * i * (1.0f - i);
    d.dx[1] = d.dh[1] = dc * x.cell_state * f * (1.0f - f);
    d.dx[2] = d.dh[2] = dc * i * (1.0f - g * g);
    d.dx[3] = d.dh[3] = dnew * tanh_c * o * (1.0f - o);
    d.dcell_state = dc * f;
  }
  return d;
}

// ---- in memory ---------------------------------------------------------------------------------

// The tensors that a step reads and writes, for all sentences: gates [B,G*H], states [B,H], saved [B,saved*H]. Absent
// tensors are null; without `lengths` no sentence has ended. A step past the length of a sentence copies its state.
template <class T, class H> struct CellStep {
  const T* x_gates;
  const H* h_gates;     // null means zero
  const float* h_bias;  // added to h_gates
  const T *state, *cell_state;
  T *new_state, *new_cell_state, *saved;
  const int32_t* lengths;
  int64_t t, batch, hidden;
};

// Gradients that are absent or not requested are null. dstate and dcell_state, the gradients of the states before the
// step, are accumulated. If `carried_state` is set, it and carried_cell_state [B,H] in f32 contain the gradients of the
// new states and are replaced by those of the previous states; dh_gates is then overwritten, otherwise accumulated.
template <class T> struct CellStepGrad {
  const T *state, *cell_state, *new_state, *new_cell_state, *saved;
  const T *dnew_state, *dnew_cell_state;
  T *dx_gates, *dh_gates, *dstate, *dcell_state;
  float *carried_state, *carried_cell_state;
  const int32_t* lengths;
  int64_t t, batch, hidden;
  bool fresh = false;  // overwrites dh_gates even if nothing is carried
};

template <Cell kCell, class T, class H> __device__ void step_unit(const CellStep<T, H>& x, int64_t b, int64_t j) {
  constexpr int64_t kGates = gates_of(kCell), kSaved = saved_of(kCell);
  const int64_t n = x.hidden, at = b * n + j;
  if (x.lengths != nullptr && x.t >= x.lengths[b]) {
    x.new_state[at] = x.state[at];
    if (x.cell_state != nullptr) x.new_cell_state[at] = x.cell_state[at];
    return;
  }
  float in[kGates], own[kGates];
  for (int64_t g = 0; g < kGates; ++g) {
    in[g] = load(x.x_gates + (b * kGates + g) * n + j);
    own[g] = x.h_gates != nullptr ? load(x.h_gates + (b * kGates + g) * n + j) : 0.0f;
    if (x.h_bias != nullptr) own[g] += x.h_bias[g * n + j];
  }
  const float state = kCell == Cell::kGru ? load(x.state + at) : 0.0f;
  const float cell_state = kCell == Cell::kLstm ? load(x.cell_state + at) : 0.0f;
  const CellResult y = step_values<kCell>(in, own, state, cell_state);
  store(x.new_state + at, y.state);
  if constexpr (kCell == Cell::kLstm) store(x.new_cell_state + at, y.cell_state);
  if (x.saved == nullptr) return;
  for (int64_t k = 0; k < kSaved; ++k) store(x.saved + (b * kSaved + k) * n + j, y.saved[k]);
}

template <Cell kCell, class T> __device__ void step_back_unit(const CellStepGrad<T>& x, int64_t b, int64_t j) {
  constexpr int64_t kGates = gates_of(kCell), kSaved = saved_of(kCell);
  const int64_t n = x.hidden, at = b * n + j;
  const bool carried = x.carried_state != nullptr;
  float dnew = x.dnew_state != nullptr ? load(x.dnew_state + at) : 0.0f;
  if (carried) dnew += x.carried_state[at];
  if (carried && x.lengths != nullptr && x.t >= x.lengths[b]) {  // the step copied the state
    for (int64_t g = 0; g < kGates; ++g) store(x.dh_gates + (b * kGates + g) * n + j, 0.0f);
    x.carried_state[at] = dnew;
    return;
  }
  float dcell_state = x.dnew_cell_state != nullptr ? load(x.dnew_cell_state + at) : 0.0f;
  if (x.carried_cell_state != nullptr) dcell_state += x.carried_cell_state[at];
  CellPast past = {};
  if constexpr (kCell == Cell::kTanh) past.new_state = load(x.new_state + at);
  if constexpr (kCell == Cell::kGru) past.state = load(x.state + at);
  if constexpr (kCell == Cell::kLstm) {
    past.cell_state = load(x.cell_state + at);
    past.new_cell_state = load(x.new_cell_state + at);
  }
  for (int64_t k = 0; k < kSaved; ++k) past.saved[k] = load(x.saved + (b * kSaved + k) * n + j);

  const CellGradient<kCell> d = step_back_values<kCell>(past, dnew, dcell_state);
  for (int64_t g = 0; g < kGates; ++g) {
    const int64_t gate = (b * kGates + g) * n + j;
    if (x.dx_gates != nullptr) add(x.dx_gates + gate, d.dx[g]);
    if (x.dh_gates != nullptr)
      store(x.dh_gates + gate, carried || x.fresh ? d.dh[g] : load(x.dh_gates + gate) + d.dh[g]);
  }
  if (carried) {
    x.carried_state[at] = d.dstate;
    if (x.carried_cell_state != nullptr) x.carried_cell_state[at] = d.dcell_state;
    return;
  }
  if (x.dstate != nullptr) add(x.dstate + at, d.dstate);
  if (x.dcell_state != nullptr) add(x.dcell_state + at, d.dcell_state);
}

}  // namespace fovea::cuda
