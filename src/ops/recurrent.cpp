// Recurrent cells for loops written by hand, and whole-sequence layers in one direction. What the steps
// leave behind lies time-major, so the recurrent weight's gradient is one product per sequence.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

State cell(Cell kind, const Var& x_gates, const Var& h_gates, const State& before) {
  Expect("cell", "the state", before.state.value()).elements().rank(2);
  const int64_t batch = before.state.dim(0), hidden = before.state.dim(1);
  const Shape gates = {batch, gates_of(kind) * hidden};
  Expect("cell", "the input's gates", x_gates.value()).like(before.state.value()).shape(gates);
  Expect("cell", "the state's gates", h_gates.value()).like(before.state.value()).shape(gates);
  const bool lstm = kind == Cell::kLstm;
  if (lstm) Expect("cell", "the memory", before.memory.value()).like(before.state.value()).shape(before.state.shape());

  const Device d = x_gates.device();
  const DType dtype = x_gates.dtype();
  const bool backward_comes = Tape::current() != nullptr && saved_of(kind) > 0;
  const Tensor state = empty({batch, hidden}, dtype, d);
  const Tensor memory = lstm ? empty({batch, hidden}, dtype, d) : Tensor();
  const Tensor saved = backward_comes ? empty({batch, saved_of(kind) * hidden}, dtype, d) : Tensor();
  kernels(d).cell(stream(d), {.cell = kind,
                              .x_gates = x_gates.value(),
                              .h_gates = h_gates.value(),
                              .state = before.state.value(),
                              .memory = before.memory.value(),
                              .new_state = state,
                              .new_memory = memory,
                              .saved = saved});
  auto [new_state, new_memory] = Tape::record(
      state, memory, {x_gates, h_gates, before.state, before.memory}, [=](const Tensor& dstate, const Tensor& dmemory) {
        const Gradient::Slot h = h_gates.needs_grad() ? h_gates.grad_slot() : Gradient::Slot{};
        kernels(d).cell_grad(stream(d), {.cell = kind,
                                         .state = before.state.value(),
                                         .memory = before.memory.value(),
                                         .new_state = state,
                                         .new_memory = memory,
                                         .saved = saved,
                                         .dnew_state = dstate,
                                         .dnew_memory = dmemory,
                                         .dx_gates = x_gates.grad(),
                                         .dh_gates = h.tensor,
                                         .dstate = before.state.grad(),
                                         .dmemory = before.memory.grad(),
                                         .accumulate = h.accumulate});
      });
  return {new_state, lstm ? new_memory : Var()};
}

Unrolled recurrent(const Var& x_gates, const Recurrent& layer) {
  Expect("recurrent", "the input's gates", x_gates.value()).elements().rank(3);
  Expect("recurrent", "the weight", layer.weight.value()).parameter_of(x_gates.value()).rank(2);
  const int64_t steps = x_gates.dim(0), batch = x_gates.dim(1), hidden = layer.weight.dim(1);
  const int64_t gates = gates_of(layer.cell) * hidden;
  Expect("recurrent", "the weight", layer.weight.value()).shape({gates, hidden});
  Expect("recurrent", "the input's gates", x_gates.value()).shape({steps, batch, gates});
  if (layer.bias) Expect("recurrent", "the bias", layer.bias.value()).parameter_of(x_gates.value()).shape({gates});
  const auto expect_initial = [&](const char* what, const Var& x) {
    if (x) Expect("recurrent", what, x.value()).like(x_gates.value()).shape({batch, hidden});
  };
  expect_initial("the initial state", layer.initial.state);
  expect_initial("the initial memory", layer.initial.memory);
  expect_lengths("recurrent", layer.lengths, batch, x_gates.device());

  const bool lstm = layer.cell == Cell::kLstm;
  const Device d = x_gates.device();
  const DType dtype = x_gates.dtype();
  const Precision precision = product_precision();
  const Tensor states = empty({steps + 1, batch, hidden}, dtype, d);
  const Tensor memories = lstm ? empty({steps + 1, batch, hidden}, dtype, d) : Tensor();
  const bool backward_comes = Tape::current() != nullptr && saved_of(layer.cell) > 0;
  const Tensor saved = backward_comes ? empty({steps, batch, saved_of(layer.cell) * hidden}, dtype, d) : Tensor();
  kernels(d).recurrent(stream(d), {.cell = layer.cell,
                                   .x_gates = x_gates.value(),
                                   .weight = layer.weight.value(),
                                   .bias = layer.bias.value(),
                                   .initial_state = layer.initial.state.value(),
                                   .initial_memory = layer.initial.memory.value(),
                                   .lengths = layer.lengths,
                                   .states = states,
                                   .memories = memories,
                                   .saved = saved,
                                   .reverse = layer.reverse,
                                   .precision = precision});

  const Tensor outputs = layer.reverse ? states.slice(0, steps) : states.slice(1, steps + 1);
  const Tensor final_memory = lstm ? memories[layer.reverse ? 0 : steps] : Tensor();
  auto [y, memory] = Tape::record(
      outputs, final_memory, {x_gates, layer.weight, layer.bias, layer.initial.state, layer.initial.memory},
      [=](const Tensor& dy, const Tensor& dmemory) {
        const Tensor dstates = dy ? dy : zeros_like(outputs);
        const Tensor dh_gates = empty({steps, batch, gates}, dtype, d);
        kernels(d).recurrent_grad(stream(d), {.cell = layer.cell,
                                              .weight = layer.weight.value(),
                                              .lengths = layer.lengths,
                                              .states = states,
                                              .memories = memories,
                                              .saved = saved,
                                              .dstates = dstates,
                                              .dfinal_memory = dmemory,
                                              .dx_gates = x_gates.grad(),
                                              .dh_gates = dh_gates,
                                              .dinitial_state = layer.initial.state.grad(),
                                              .dinitial_memory = layer.initial.memory.grad(),
                                              .reverse = layer.reverse,
                                              .precision = precision});
        const Tensor before = layer.reverse ? states.slice(1, steps + 1) : states.slice(0, steps);
        const Tensor rows = dh_gates.reshape({steps * batch, gates});
        if (layer.weight.needs_grad()) {
          Tape::current()->defer(layer.weight,
                                 {.x = before.reshape({steps * batch, hidden}), .dy = rows, .precision = precision});
        }
        if (layer.bias.needs_grad()) {
          kernels(d).reduce(stream(d), {.op = ReduceOp::kSum,
                                        .x = rows,
                                        .y = layer.bias.grad(),
                                        .count = steps * batch,
                                        .inner = gates,
                                        .accumulate = true});
        }
      });
  const bool none = steps == 0;
  const Var state = none ? layer.initial.state : y[layer.reverse ? 0 : steps - 1];
  return {y, {state, lstm ? memory : Var()}};
}

}  // namespace fovea
