// Whole recurrent layers in one direction: for each step the state's product with the weight, then the
// cell. Backward runs the steps the other way round and leaves the gates' gradients time-major, so that
// the weight's gradient is one product after the loop.
#include <algorithm>
#include <cstring>

#include "base/threads.h"
#include "kernels/cpu/cell.h"
#include "kernels/cpu/functions.h"
#include "tensor/arena.h"

namespace fovea::cpu {

namespace {

// Working memory that outlives the call and only grows; a flat f32 tensor, for products write into it.
Tensor working_memory(Tensor& kept, const Shape& shape) {
  if (!kept || kept.size() < shape.count()) {
    const ArenaScope heap(nullptr);
    kept = empty({shape.count()}, DType::kF32, Device::cpu());
  }
  return kept.slice(0, shape.count()).reshape(shape);
}

// Step t of a tensor that may be absent.
Tensor at(const Tensor& x, int64_t t) { return x ? x[t] : Tensor(); }

void set(const Tensor& to, const Tensor& from) {
  if (from) return copy(from, to);
  zero_memory(to.device(), to.raw(), to.bytes());
}

void add(Stream& stream, const Tensor& x, const Tensor& y) {
  if (y) affine(stream, {.x = x, .y = y, .accumulate = true});
}

// The order of the steps and where their states lie in [T+1,B,H].
struct Steps {
  int64_t count;
  bool reverse;

  int64_t time(int64_t step) const { return reverse ? count - 1 - step : step; }
  int64_t before(int64_t t) const { return reverse ? t + 1 : t; }
  int64_t after(int64_t t) const { return reverse ? t : t + 1; }
  int64_t first() const { return reverse ? count : 0; }
};

template <class Body> void for_rows(const Tensor& lengths, int64_t t, const Tensor& state, Body&& body) {
  const int64_t rows = state.dim(0), hidden = state.dim(1);
  parallel_for(rows, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, hidden)), [&](int64_t begin, int64_t end) {
    body(CellBlock{.row_begin = begin, .row_end = end, .end = hidden, .lengths = lengths.data<int32_t>(), .t = t});
  });
}

}  // namespace

void recurrent(Stream& stream, const RecurrentArgs& args) {
  static thread_local Tensor kept_gates;
  const int64_t B = args.states.dim(1), H = args.states.dim(2), G = gates_of(args.cell);
  const Steps steps = {.count = args.x_gates.dim(0), .reverse = args.reverse};
  const Tensor h_gates = working_memory(kept_gates, {B, G * H});
  set(args.states[steps.first()], args.initial_state);
  if (args.memories) set(args.memories[steps.first()], args.initial_memory);

  for (int64_t step = 0; step < steps.count; ++step) {
    const int64_t t = steps.time(step), before = steps.before(t), after = steps.after(t);
    matmul(stream, {.a = {.tensor = args.states[before], .row_stride = H},
                    .b = {.tensor = args.weight, .row_stride = H, .transposed = true, .weight = true},
                    .c = {.tensor = h_gates, .row_stride = G * H},
                    .bias = args.bias,
                    .m = B,
                    .n = G * H,
                    .k = H,
                    .precision = args.precision});
    const CellArgs cell_args = {.cell = args.cell,
                                .x_gates = args.x_gates[t],
                                .h_gates = h_gates,
                                .state = args.states[before],
                                .memory = at(args.memories, before),
                                .new_state = args.states[after],
                                .new_memory = at(args.memories, after),
                                .saved = at(args.saved, t)};
    for_rows(args.lengths, t, cell_args.new_state, [&](const CellBlock& block) { cell_forward(cell_args, block); });
  }
}

void recurrent_grad(Stream& stream, const RecurrentGradArgs& args) {
  static thread_local Tensor kept_state, kept_memory, kept_gates;
  const int64_t B = args.states.dim(1), H = args.states.dim(2), G = gates_of(args.cell);
  const Steps steps = {.count = args.states.dim(0) - 1, .reverse = args.reverse};
  const Tensor dstate = working_memory(kept_state, {B, H});
  const Tensor dmemory = args.memories ? working_memory(kept_memory, {B, H}) : Tensor();
  set(dstate, {});
  if (dmemory) {
    set(dmemory, {});
    if (args.dfinal_memory) affine(stream, {.x = args.dfinal_memory, .y = dmemory});
  }
  const bool shared = args.dx_gates.raw() == args.dh_gates.raw();

  for (int64_t step = steps.count - 1; step >= 0; --step) {
    const int64_t t = steps.time(step), before = steps.before(t), after = steps.after(t);
    const CellGradArgs cell_args = {.cell = args.cell,
                                    .state = args.states[before],
                                    .memory = at(args.memories, before),
                                    .new_state = args.states[after],
                                    .new_memory = at(args.memories, after),
                                    .saved = at(args.saved, t),
                                    .dnew_state = args.dstates[t],
                                    .dx_gates = shared ? Tensor() : at(args.dx_gates, t),
                                    .dh_gates = args.dh_gates[t],
                                    .dstate = dstate,
                                    .dmemory = dmemory};
    for_rows(args.lengths, t, dstate, [&](const CellBlock& block) { cell_backward(cell_args, block); });
    matmul(stream, {.a = {.tensor = args.dh_gates[t], .row_stride = G * H},
                    .b = {.tensor = args.weight, .row_stride = H, .weight = true},
                    .c = {.tensor = dstate, .row_stride = H},
                    .m = B,
                    .n = H,
                    .k = G * H,
                    .accumulate = true,
                    .precision = args.precision});
  }
  add(stream, dstate, args.dinitial_state);
  if (dmemory) add(stream, dmemory, args.dinitial_memory);
}

}  // namespace fovea::cpu
