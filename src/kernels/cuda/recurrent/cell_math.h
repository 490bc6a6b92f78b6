// One unit of a recurrent cell, forward and backward, on the card. kernels.h has the equations.
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
  float state, memory;
  float saved[4];
};
// `in` and `own` are the input's and the state's part of the gates.
template <Cell kCell>
__device__ CellResult step_values(const float (&in)[gates_of(kCell)], const float (&own)[gates_of(kCell)], float state,
                                  float memory) {
  if constexpr (kCell == Cell::kTanh) {
    return {.state = tanhf(in[0] + own[0])};
  } else if constexpr (kCell == Cell::kGru) {
    const float r = sigmoid(in[0] + own[0]), z = sigmoid(in[1] + own[1]), c = tanhf(in[2] + r * own[2]);
    return {.state = (1.0f - z) * c + z * state, .saved = {r, z, c, own[2]}};
  } else {
    const float i = sigmoid(in[0] + own[0]), f = sigmoid(in[1] + own[1]);
    const float g = tanhf(in[2] + own[2]), o = sigmoid(in[3] + own[3]);
    const float after = f * memory + i * g;
    return {.state = o * tanhf(after), .memory = after, .saved = {i, f, g, o}};
  }
}

// What a step's gradient reads: gru `state`, tanh `new_state`, lstm both memories.
struct CellPast {
  float state, memory, new_state, new_memory;
  float saved[4];
};
template <Cell kCell> struct CellGradient {
  float dx[gates_of(kCell)], dh[gates_of(kCell)];
  float dstate = 0.0f, dmemory = 0.0f;  // but for what goes through the weight
};
template <Cell kCell> __device__ CellGradient<kCell> step_back_values(const CellPast& x, float dnew, float dmemory) {
  CellGradient<kCell> d;
  if constexpr (kCell == Cell::kTanh) {
    d.dx[0] = d.dh[0] = dnew * (1.0f - x.new_state * x.new_state);
  } else if constexpr (kCell == Cell::kGru) {
    const float r = x.saved[0], z = x.saved[1], c = x.saved[2], hn = x.saved[3];
    const float dn = dnew * (1.0f - z) * (1.0f - c * c);  // of the sums inside n, z and r
    d.dx[0] = d.dh[0] = dn * hn * r * (1.0f - r);
    d.dx[1] = d.dh[1] = dnew * (x.state - c) * z * (1.0f - z);
    d.dx[2] = dn;
    d.dh[2] = dn * r;
    d.dstate = dnew * z;
  } else {
    const float i = x.saved[0], f = x.saved[1], g = x.saved[2], o = x.saved[3], tanh_c = tanhf(x.new_memory);
    const float dc = dmemory + dnew * o * (1.0f - tanh_c * tanh_c);
    d.dx[0] = d.dh[0] = dc * g * i * (1.0f - i);
    d.dx[1] = d.dh[1] = dc * x.memory * f * (1.0f - f);
    d.dx[2] = d.dh[2] = dc * i * (1.0f - g * g);
    d.dx[3] = d.dh[3] = dnew * tanh_c * o * (1.0f - o);
    d.dmemory = dc * f;
  }
  return d;
}

// ---- in memory ---------------------------------------------------------------------------------

// What a step reads and writes, for all sentences: gates [B,G*H], states [B,H], saved [B,saved*H]. Absent tensors
// are null, as are `lengths` where every sentence lasts. At a step past its length a state stays as it is.
template <class T, class H> struct CellStep {
  const T* x_gates;
  const H* h_gates;     // null: zeros
  const float* h_bias;  // added to h_gates
  const T *state, *memory;
  T *new_state, *new_memory, *saved;
  const int32_t* lengths;
  int64_t t, batch, hidden;
};

// Gradients that did not come, or are not wanted, are null. dstate and dmemory are those of the state and memory
// before the step: added to, or, when `carried` is set, [B,H] in f32 that hold the gradients of the new ones and are
// turned into those of the old ones. dh_gates is overwritten then, else added to.
template <class T> struct CellStepGrad {
  const T *state, *memory, *new_state, *new_memory, *saved;
  const T *dnew_state, *dnew_memory;
  T *dx_gates, *dh_gates, *dstate, *dmemory;
  float *carried_state, *carried_memory;
  const int32_t* lengths;
  int64_t t, batch, hidden;
  bool fresh = false;  // dh_gates is overwritten even when nothing is carried
};

template <Cell kCell, class T, class H> __device__ void step_unit(const CellStep<T, H>& x, int64_t b, int64_t j) {
  constexpr int64_t kGates = gates_of(kCell), kSaved = saved_of(kCell);
  const int64_t n = x.hidden, at = b * n + j;
  if (x.lengths != nullptr && x.t >= x.lengths[b]) {
    x.new_state[at] = x.state[at];
    if (x.memory != nullptr) x.new_memory[at] = x.memory[at];
    return;
  }
  float in[kGates], own[kGates];
  for (int64_t g = 0; g < kGates; ++g) {
    in[g] = load(x.x_gates + (b * kGates + g) * n + j);
    own[g] = x.h_gates != nullptr ? load(x.h_gates + (b * kGates + g) * n + j) : 0.0f;
    if (x.h_bias != nullptr) own[g] += x.h_bias[g * n + j];
  }
  const float state = kCell == Cell::kGru ? load(x.state + at) : 0.0f;
  const float memory = kCell == Cell::kLstm ? load(x.memory + at) : 0.0f;
  const CellResult y = step_values<kCell>(in, own, state, memory);
  store(x.new_state + at, y.state);
  if constexpr (kCell == Cell::kLstm) store(x.new_memory + at, y.memory);
  if (x.saved == nullptr) return;
  for (int64_t k = 0; k < kSaved; ++k) store(x.saved + (b * kSaved + k) * n + j, y.saved[k]);
}

template <Cell kCell, class T> __device__ void step_back_unit(const CellStepGrad<T>& x, int64_t b, int64_t j) {
  constexpr int64_t kGates = gates_of(kCell), kSaved = saved_of(kCell);
  const int64_t n = x.hidden, at = b * n + j;
  const bool carried = x.carried_state != nullptr;
  float dnew = x.dnew_state != nullptr ? load(x.dnew_state + at) : 0.0f;
  if (carried) dnew += x.carried_state[at];
  if (carried && x.lengths != nullptr && x.t >= x.lengths[b]) {  // the state went through as it was
    for (int64_t g = 0; g < kGates; ++g) store(x.dh_gates + (b * kGates + g) * n + j, 0.0f);
    x.carried_state[at] = dnew;
    return;
  }
  float dmemory = x.dnew_memory != nullptr ? load(x.dnew_memory + at) : 0.0f;
  if (x.carried_memory != nullptr) dmemory += x.carried_memory[at];
  CellPast past = {};
  if constexpr (kCell == Cell::kTanh) past.new_state = load(x.new_state + at);
  if constexpr (kCell == Cell::kGru) past.state = load(x.state + at);
  if constexpr (kCell == Cell::kLstm) {
    past.memory = load(x.memory + at);
    past.new_memory = load(x.new_memory + at);
  }
  for (int64_t k = 0; k < kSaved; ++k) past.saved[k] = load(x.saved + (b * kSaved + k) * n + j);

  const CellGradient<kCell> d = step_back_values<kCell>(past, dnew, dmemory);
  for (int64_t g = 0; g < kGates; ++g) {
    const int64_t gate = (b * kGates + g) * n + j;
    if (x.dx_gates != nullptr) add(x.dx_gates + gate, d.dx[g]);
    if (x.dh_gates != nullptr)
      store(x.dh_gates + gate, carried || x.fresh ? d.dh[g] : load(x.dh_gates + gate) + d.dh[g]);
  }
  if (carried) {
    x.carried_state[at] = d.dstate;
    if (x.carried_memory != nullptr) x.carried_memory[at] = d.dmemory;
    return;
  }
  if (x.dstate != nullptr) add(x.dstate + at, d.dstate);
  if (x.dmemory != nullptr) add(x.dmemory + at, d.dmemory);
}

}  // namespace fovea::cuda
