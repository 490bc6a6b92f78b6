// One unit of a recurrent cell, forward and backward, on the card. kernels.h has the equations.
#pragma once

#include "kernels/cuda/device.h"

namespace fovea::cuda {

__device__ inline float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

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
  constexpr int64_t kGates = gates_of(kCell);
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
  float keep[4] = {};
  if constexpr (kCell == Cell::kTanh) {
    store(x.new_state + at, tanhf(in[0] + own[0]));
  } else if constexpr (kCell == Cell::kGru) {
    const float r = sigmoid(in[0] + own[0]), z = sigmoid(in[1] + own[1]), c = tanhf(in[2] + r * own[2]);
    store(x.new_state + at, (1.0f - z) * c + z * load(x.state + at));
    keep[0] = r, keep[1] = z, keep[2] = c, keep[3] = own[2];
  } else {
    const float i = sigmoid(in[0] + own[0]), f = sigmoid(in[1] + own[1]);
    const float g = tanhf(in[2] + own[2]), o = sigmoid(in[3] + own[3]);
    const float memory = f * load(x.memory + at) + i * g;
    store(x.new_memory + at, memory);
    store(x.new_state + at, o * tanhf(memory));
    keep[0] = i, keep[1] = f, keep[2] = g, keep[3] = o;
  }
  if (x.saved == nullptr) return;
  for (int64_t k = 0; k < saved_of(kCell); ++k) store(x.saved + (b * saved_of(kCell) + k) * n + j, keep[k]);
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
  float dmemory_new = x.dnew_memory != nullptr ? load(x.dnew_memory + at) : 0.0f;
  if (x.carried_memory != nullptr) dmemory_new += x.carried_memory[at];
  float saved[4] = {};
  for (int64_t k = 0; k < kSaved; ++k) saved[k] = load(x.saved + (b * kSaved + k) * n + j);

  float dx[kGates], dh[kGates], dstate = 0.0f, dmemory = 0.0f;
  if constexpr (kCell == Cell::kTanh) {
    const float h = load(x.new_state + at);
    dx[0] = dh[0] = dnew * (1.0f - h * h);
  } else if constexpr (kCell == Cell::kGru) {
    const float r = saved[0], z = saved[1], c = saved[2], hn = saved[3];
    const float dn = dnew * (1.0f - z) * (1.0f - c * c);  // of the sums inside n, z and r
    dx[0] = dh[0] = dn * hn * r * (1.0f - r);
    dx[1] = dh[1] = dnew * (load(x.state + at) - c) * z * (1.0f - z);
    dx[2] = dn;
    dh[2] = dn * r;
    dstate = dnew * z;
  } else {
    const float i = saved[0], f = saved[1], g = saved[2], o = saved[3], tanh_c = tanhf(load(x.new_memory + at));
    const float dc = dmemory_new + dnew * o * (1.0f - tanh_c * tanh_c);
    dx[0] = dh[0] = dc * g * i * (1.0f - i);
    dx[1] = dh[1] = dc * load(x.memory + at) * f * (1.0f - f);
    dx[2] = dh[2] = dc * i * (1.0f - g * g);
    dx[3] = dh[3] = dnew * tanh_c * o * (1.0f - o);
    dmemory = dc * f;
  }
  for (int64_t g = 0; g < kGates; ++g) {
    const int64_t gate = (b * kGates + g) * n + j;
    if (x.dx_gates != nullptr) add(x.dx_gates + gate, dx[g]);
    if (x.dh_gates != nullptr) store(x.dh_gates + gate, carried || x.fresh ? dh[g] : load(x.dh_gates + gate) + dh[g]);
  }
  if (carried) {
    x.carried_state[at] = dstate;
    if (x.carried_memory != nullptr) x.carried_memory[at] = dmemory;
    return;
  }
  if (x.dstate != nullptr) add(x.dstate + at, dstate);
  if (x.dmemory != nullptr) add(x.dmemory + at, dmemory);
}

}  // namespace fovea::cuda
