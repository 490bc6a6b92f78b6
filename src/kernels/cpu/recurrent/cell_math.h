// The recurrent cells on SIMD registers: Elman's tanh, the GRU of Cho et al. 2014 (with the reset gate applied after
// the projection of the state, as in cuDNN) and the LSTM of Hochreiter & Schmidhuber 1997 with forget gates. Each has a
// forward and a gradient function over rows [B,*] of concatenated gates; the caller provides the sources of the
// operands and the destinations of the results.
#include "kernels/cpu/common/simd_math.h"
#include "kernels/kernels.h"

#if defined(FOVEA_KERNELS_CPU_RECURRENT_CELL_MATH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_RECURRENT_CELL_MATH_H_
#undef FOVEA_KERNELS_CPU_RECURRENT_CELL_MATH_H_
#else
#define FOVEA_KERNELS_CPU_RECURRENT_CELL_MATH_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

HWY_INLINE Floats tanh_slope(Floats y) { return Floats(1) - y * y; }
HWY_INLINE Floats sigmoid_slope(Floats y) { return y * (Floats(1) - y); }

// Prefetches column j of the next row of [., blocks * hidden]. The input gates and the saved values of a step come from
// main memory, in more streams than the hardware prefetcher follows.
template <class T> HWY_INLINE void prefetch_next_row(const T* row, int64_t blocks, int64_t hidden, int64_t j) {
#pragma GCC unroll 4
  for (int64_t block = 0; block < blocks; ++block) __builtin_prefetch(row + (blocks + block) * hidden + j);
}

// One row of a cell: concatenated gates of `hidden` columns each. T is the element type, P the type of the projected
// state.
template <class T, class P> struct CellRow {
  int64_t hidden;
  const T* x;
  const P* h;
  const T *state, *cell_state;
  T *new_state, *new_cell_state, *saved;  // `saved` may be null
};

// Columns [begin, end) of a row.
template <class T, class P> void tanh_forward(const CellRow<T, P>& row, int64_t begin, int64_t end) {
  each_register(end - begin, [&](int64_t i, auto lanes) {
    const int64_t j = begin + i;
    store(tanh(load(row.x + j, lanes) + load(row.h + j, lanes)), row.new_state + j, lanes);
  });
}

template <class T, class P> void gru_forward(const CellRow<T, P>& row, int64_t begin, int64_t end) {
  each_register(end - begin, [&](int64_t i, auto lanes) {
    const int64_t jr = begin + i, jz = jr + row.hidden, jn = jz + row.hidden;
    prefetch_next_row(row.x, 3, row.hidden, jr);
    const Floats r = sigmoid(load(row.x + jr, lanes) + load(row.h + jr, lanes));
    const Floats z = sigmoid(load(row.x + jz, lanes) + load(row.h + jz, lanes));
    const Floats hn = load(row.h + jn, lanes);
    const Floats n = tanh(mul_add(r, hn, load(row.x + jn, lanes)));
    store(mul_add(z, load(row.state + jr, lanes) - n, n), row.new_state + jr, lanes);
    if (row.saved) {
      store(r, row.saved + jr, lanes);
      store(z, row.saved + jz, lanes);
      store(n, row.saved + jn, lanes);
      store(hn, row.saved + jn + row.hidden, lanes);
    }
  });
}

template <class T, class P> void lstm_forward(const CellRow<T, P>& row, int64_t begin, int64_t end) {
  each_register(end - begin, [&](int64_t at, auto lanes) {
    const int64_t ji = begin + at, jf = ji + row.hidden, jg = jf + row.hidden, jo = jg + row.hidden;
    prefetch_next_row(row.x, 4, row.hidden, ji);
    const Floats i = sigmoid(load(row.x + ji, lanes) + load(row.h + ji, lanes));
    const Floats f = sigmoid(load(row.x + jf, lanes) + load(row.h + jf, lanes));
    const Floats g = tanh(load(row.x + jg, lanes) + load(row.h + jg, lanes));
    const Floats o = sigmoid(load(row.x + jo, lanes) + load(row.h + jo, lanes));
    const Floats c = mul_add(f, load(row.cell_state + ji, lanes), i * g);
    store(c, row.new_cell_state + ji, lanes);
    store(o * tanh(c), row.new_state + ji, lanes);
    if (row.saved) {
      store(i, row.saved + ji, lanes);
      store(f, row.saved + jf, lanes);
      store(g, row.saved + jg, lanes);
      store(o, row.saved + jo, lanes);
    }
  });
}

// The values of the forward pass that the gradients read.
template <class T> struct CellGradRow {
  int64_t hidden;
  const T *state, *cell_state, *new_state, *new_cell_state, *saved;
};

// A GradientFlow provides the gradients of the new state and cell state and receives those of the operands:
//   Floats dstate(j, lanes), dcell_state(j, lanes);
//   void gate(j, dx, dh, lanes), state(j, d, lanes), cell_state(j, d, lanes);
template <class T, class GradientFlow>
void tanh_backward(const CellGradRow<T>& row, const GradientFlow& flow, int64_t begin, int64_t end) {
  each_register(end - begin, [&](int64_t i, auto lanes) {
    const int64_t j = begin + i;
    const Floats d = flow.dstate(j, lanes) * tanh_slope(load(row.new_state + j, lanes));
    flow.gate(j, d, d, lanes);
    flow.state(j, Floats(0), lanes);
  });
}

template <class T, class GradientFlow>
void gru_backward(const CellGradRow<T>& row, const GradientFlow& flow, int64_t begin, int64_t end) {
  each_register(end - begin, [&](int64_t i, auto lanes) {
    const int64_t jr = begin + i, jz = jr + row.hidden, jn = jz + row.hidden;
    prefetch_next_row(row.saved, 4, row.hidden, jr);
    const Floats r = load(row.saved + jr, lanes), z = load(row.saved + jz, lanes);
    const Floats n = load(row.saved + jn, lanes), hn = load(row.saved + jn + row.hidden, lanes);
    const Floats dstate = flow.dstate(jr, lanes);
    const Floats dz = dstate * (load(row.state + jr, lanes) - n) * sigmoid_slope(z);
    const Floats dn = dstate * (Floats(1) - z) * tanh_slope(n);
    const Floats dr = dn * hn * sigmoid_slope(r);
    flow.gate(jr, dr, dr, lanes);
    flow.gate(jz, dz, dz, lanes);
    flow.gate(jn, dn, dn * r, lanes);
    flow.state(jr, dstate * z, lanes);
  });
}

template <class T, class GradientFlow>
void lstm_backward(const CellGradRow<T>& row, const GradientFlow& flow, int64_t begin, int64_t end) {
  each_register(end - begin, [&](int64_t at, auto lanes) {
    const int64_t ji = begin + at, jf = ji + row.hidden, jg = jf + row.hidden, jo = jg + row.hidden;
    prefetch_next_row(row.saved, 4, row.hidden, ji);
    const Floats i = load(row.saved + ji, lanes), f = load(row.saved + jf, lanes);
    const Floats g = load(row.saved + jg, lanes), o = load(row.saved + jo, lanes);
    const Floats tanh_c = tanh(load(row.new_cell_state + ji, lanes));
    const Floats dstate = flow.dstate(ji, lanes);
    const Floats dc = mul_add(dstate * o, tanh_slope(tanh_c), flow.dcell_state(ji, lanes));
    const Floats di = dc * g * sigmoid_slope(i), dg = dc * i * tanh_slope(g);
    const Floats df = dc * load(row.cell_state + ji, lanes) * sigmoid_slope(f);
    const Floats d_o = dstate * tanh_c * sigmoid_slope(o);
    flow.gate(ji, di, di, lanes);
    flow.gate(jf, df, df, lanes);
    flow.gate(jg, dg, dg, lanes);
    flow.gate(jo, d_o, d_o, lanes);
    flow.cell_state(ji, dc * f, lanes);
    flow.state(ji, Floats(0), lanes);
  });
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_RECURRENT_CELL_MATH_H_
