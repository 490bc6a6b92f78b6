// The cell kernels: the equations of cell_math.h over rows [B,*] of tensors, f32 and bf16.
#include "kernels/cpu/recurrent/cell.h"

#include <algorithm>
#include <cassert>

#include "base/threads.h"
#include "kernels/cpu/functions.h"
#include "kernels/unfused.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/recurrent/cell.cpp"
#include "kernels/cpu/recurrent/cell_math.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

// Returns row `row` of a matrix; null if the tensor is absent.
template <class T> T* row_of(const Tensor& x, int64_t row, int64_t width) {
  return x ? x.data<T>() + row * width : nullptr;
}

template <class T, class P> void forward_rows(const CellArgs& args, const CellBlock& block) {
  const int64_t hidden = args.new_state.dim(1), gates = gates_of(args.cell) * hidden;
  for (int64_t b = block.row_begin; b < block.row_end; ++b) {
    const CellRow<T, P> row = {.hidden = hidden,
                               .x = row_of<T>(args.x_gates, b, gates),
                               .h = row_of<P>(args.h_gates, b, gates),
                               .state = row_of<T>(args.state, b, hidden),
                               .cell_state = row_of<T>(args.cell_state, b, hidden),
                               .new_state = row_of<T>(args.new_state, b, hidden),
                               .new_cell_state = row_of<T>(args.new_cell_state, b, hidden),
                               .saved = row_of<T>(args.saved, b, saved_of(args.cell) * hidden)};
    assert(row.x && row.h && row.state && row.new_state);
    assert(args.cell != Cell::kLstm || (row.cell_state && row.new_cell_state));
    if (block.ended(b)) {
      std::copy(row.state + block.begin, row.state + block.end, row.new_state + block.begin);
      if (row.cell_state)
        std::copy(row.cell_state + block.begin, row.cell_state + block.end, row.new_cell_state + block.begin);
      continue;
    }
    switch (args.cell) {
      case Cell::kTanh: tanh_forward(row, block.begin, block.end); break;
      case Cell::kGru: gru_forward(row, block.begin, block.end); break;
      case Cell::kLstm: lstm_forward(row, block.begin, block.end); break;
    }
  }
}

void forward(const CellArgs& args, const CellBlock& block) {
  if (args.x_gates.dtype() == DType::kF32) return forward_rows<float, float>(args, block);
  if (args.h_gates.dtype() == DType::kF32) return forward_rows<bf16, float>(args, block);
  forward_rows<bf16, bf16>(args, block);
}

// The gradients of a single step: all are accumulated. Any pointer may be null.
template <class T> struct AccumulatingFlow {
  const T *dnew_state, *dnew_cell_state;
  T *dx, *dh, *dprevious_state, *dprevious_cell_state;

  template <class Lanes> static Floats value(const T* p, int64_t j, Lanes lanes) {
    return p ? load(p + j, lanes) : Floats(0);
  }
  template <class Lanes> static void add(T* p, int64_t j, Floats d, Lanes lanes) {
    if (p) store(load(p + j, lanes) + d, p + j, lanes);
  }
  template <class Lanes> Floats dstate(int64_t j, Lanes lanes) const { return value(dnew_state, j, lanes); }
  template <class Lanes> Floats dcell_state(int64_t j, Lanes lanes) const { return value(dnew_cell_state, j, lanes); }
  template <class Lanes> void gate(int64_t j, Floats x, Floats h, Lanes lanes) const {
    add(dx, j, x, lanes);
    add(dh, j, h, lanes);
  }
  template <class Lanes> void state(int64_t j, Floats d, Lanes lanes) const { add(dprevious_state, j, d, lanes); }
  template <class Lanes> void cell_state(int64_t j, Floats d, Lanes lanes) const {
    add(dprevious_cell_state, j, d, lanes);
  }
};

// The gradients inside a layer: those of the state and cell state are carried from step to step in f32.
template <class T> struct CarryingFlow {
  const T* doutput;  // of the output of this step
  float *carried,
      *carried_cell_state;  // of the new state and cell state of the step, replaced by those of the previous ones
  T *dx, *dh;               // dx is accumulated and may be null, dh is overwritten

  template <class Lanes> Floats dstate(int64_t j, Lanes lanes) const {
    return load(carried + j, lanes) + load(doutput + j, lanes);
  }
  template <class Lanes> Floats dcell_state(int64_t j, Lanes lanes) const {
    return load(carried_cell_state + j, lanes);
  }
  template <class Lanes> void gate(int64_t j, Floats x, Floats h, Lanes lanes) const {
    if (dx) store(load(dx + j, lanes) + x, dx + j, lanes);
    store(h, dh + j, lanes);
  }
  template <class Lanes> void state(int64_t j, Floats d, Lanes lanes) const { store(d, carried + j, lanes); }
  template <class Lanes> void cell_state(int64_t j, Floats d, Lanes lanes) const {
    store(d, carried_cell_state + j, lanes);
  }
};

template <class T, class GradientFlow>
void backward_row(const CellGradArgs& args, const CellBlock& block, int64_t b, const GradientFlow& flow) {
  const int64_t hidden = args.new_state.dim(1);
  const CellGradRow<T> row = {.hidden = hidden,
                              .state = row_of<T>(args.state, b, hidden),
                              .cell_state = row_of<T>(args.cell_state, b, hidden),
                              .new_state = row_of<T>(args.new_state, b, hidden),
                              .new_cell_state = row_of<T>(args.new_cell_state, b, hidden),
                              .saved = row_of<T>(args.saved, b, saved_of(args.cell) * hidden)};
  assert(row.state && row.new_state);
  assert(args.cell == Cell::kTanh || row.saved);
  assert(args.cell != Cell::kLstm || (row.cell_state && row.new_cell_state));
  switch (args.cell) {
    case Cell::kTanh: return tanh_backward(row, flow, block.begin, block.end);
    case Cell::kGru: return gru_backward(row, flow, block.begin, block.end);
    case Cell::kLstm: return lstm_backward(row, flow, block.begin, block.end);
  }
}

template <class T> void adding_rows(const CellGradArgs& args, const CellBlock& block) {
  const int64_t hidden = args.new_state.dim(1), gates = gates_of(args.cell) * hidden;
  for (int64_t b = block.row_begin; b < block.row_end; ++b) {
    backward_row<T>(args, block, b,
                    AccumulatingFlow<T>{.dnew_state = row_of<T>(args.dnew_state, b, hidden),
                                        .dnew_cell_state = row_of<T>(args.dnew_cell_state, b, hidden),
                                        .dx = row_of<T>(args.dx_gates, b, gates),
                                        .dh = row_of<T>(args.dh_gates, b, gates),
                                        .dprevious_state = row_of<T>(args.dstate, b, hidden),
                                        .dprevious_cell_state = row_of<T>(args.dcell_state, b, hidden)});
  }
}

// A sentence that has ended passes on the gradient of its state and has zero gate gradients.
template <class T> void skip_row(const CarryingFlow<T>& flow, Cell cell, int64_t hidden, const CellBlock& block) {
  each_register(block.end - block.begin, [&](int64_t i, auto lanes) {
    const int64_t j = block.begin + i;
    flow.state(j, flow.dstate(j, lanes), lanes);
    for (int64_t g = 0; g < gates_of(cell); ++g) store(Floats(0), flow.dh + g * hidden + j, lanes);
  });
}

// dstate and dcell_state are the carried gradients (f32).
template <class T> void carrying_rows(const CellGradArgs& args, const CellBlock& block) {
  const int64_t hidden = args.new_state.dim(1), gates = gates_of(args.cell) * hidden;
  for (int64_t b = block.row_begin; b < block.row_end; ++b) {
    const CarryingFlow<T> flow = {.doutput = row_of<T>(args.dnew_state, b, hidden),
                                  .carried = row_of<float>(args.dstate, b, hidden),
                                  .carried_cell_state = row_of<float>(args.dcell_state, b, hidden),
                                  .dx = row_of<T>(args.dx_gates, b, gates),
                                  .dh = row_of<T>(args.dh_gates, b, gates)};
    assert(flow.doutput && flow.carried && flow.dh);
    if (block.ended(b)) {
      skip_row(flow, args.cell, hidden, block);
    } else {
      backward_row<T>(args, block, b, flow);
    }
  }
}

void adding(const CellGradArgs& args, const CellBlock& block) {
  if (args.new_state.dtype() == DType::kF32) return adding_rows<float>(args, block);
  adding_rows<bf16>(args, block);
}

void carrying(const CellGradArgs& args, const CellBlock& block) {
  if (args.new_state.dtype() == DType::kF32) return carrying_rows<float>(args, block);
  carrying_rows<bf16>(args, block);
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(forward);
HWY_EXPORT(adding);
HWY_EXPORT(carrying);

void cell_forward(const CellArgs& args, const CellBlock& block) { HWY_DYNAMIC_DISPATCH(forward)(args, block); }
void cell_backward(const CellGradArgs& args, const CellBlock& block) { HWY_DYNAMIC_DISPATCH(carrying)(args, block); }

namespace {

// Each thread gets some thousand units, each of which costs tens of operations.
template <class Body> void for_rows(const Tensor& state, Body&& body) {
  const int64_t rows = state.dim(0), hidden = state.dim(1);
  parallel_for(rows, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, hidden)),
               [&](int64_t begin, int64_t end) { body(CellBlock{.row_begin = begin, .row_end = end, .end = hidden}); });
}

}  // namespace

void cell(Stream&, const CellArgs& args) {
  for_rows(args.new_state, [&](const CellBlock& block) { cell_forward(args, block); });
}

void cell_grad(Stream&, const CellGradArgs& args) {
  zero_unless(args.accumulate, {args.dh_gates});
  for_rows(args.new_state, [&](const CellBlock& block) { HWY_DYNAMIC_DISPATCH(adding)(args, block); });
}

}  // namespace fovea::cpu
#endif  // HWY_ONCE
