// Recurrent cells for loops written by hand, and layers over whole sequences in one direction. The states of all steps
// are stored time-major, so that the gradient of the recurrent weight is one product per sequence.
#include <new>

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
  if (lstm)
    Expect("cell", "the cell state", before.cell_state.value()).like(before.state.value()).shape(before.state.shape());

  const Device d = x_gates.device();
  const DType dtype = x_gates.dtype();
  const bool needs_backward = Tape::current() != nullptr && saved_of(kind) > 0;
  const Tensor state = empty({batch, hidden}, dtype, d);
  const Tensor cell_state = lstm ? empty({batch, hidden}, dtype, d) : Tensor();
  const Tensor saved = needs_backward ? empty({batch, saved_of(kind) * hidden}, dtype, d) : Tensor();
  kernels(d).cell(stream(d), {.cell = kind,
                              .x_gates = x_gates.value(),
                              .h_gates = h_gates.value(),
                              .state = before.state.value(),
                              .cell_state = before.cell_state.value(),
                              .new_state = state,
                              .new_cell_state = cell_state,
                              .saved = saved});
  auto [new_state, new_cell_state] =
      Tape::add_node(state, cell_state, {x_gates, h_gates, before.state, before.cell_state},
                     [=](const Tensor& dstate, const Tensor& dcell_state) {
                       const Gradient::Slot h = h_gates.needs_grad() ? h_gates.grad_slot() : Gradient::Slot{};
                       kernels(d).cell_grad(stream(d), {.cell = kind,
                                                        .state = before.state.value(),
                                                        .cell_state = before.cell_state.value(),
                                                        .new_state = state,
                                                        .new_cell_state = cell_state,
                                                        .saved = saved,
                                                        .dnew_state = dstate,
                                                        .dnew_cell_state = dcell_state,
                                                        .dx_gates = x_gates.grad(),
                                                        .dh_gates = h.tensor,
                                                        .dstate = before.state.grad(),
                                                        .dcell_state = before.cell_state.grad(),
                                                        .accumulate = h.accumulate});
                     });
  return {new_state, lstm ? new_cell_state : Var()};
}

namespace {

// A layer over all steps: its tensors, which the constructor allocates, and its gradient.
struct Layer {
  Var x_gates;
  Recurrent config;
  RecurrentArgs args;

  Layer(const Var& x, const Recurrent& layer) : x_gates(x), config(layer) {
    Expect("recurrent", "the input's gates", x.value()).elements().rank(3);
    Expect("recurrent", "the weight", layer.weight.value()).parameter_of(x.value()).rank(2);
    const int64_t steps = x.dim(0), batch = x.dim(1), hidden = layer.weight.dim(1);
    const int64_t gates = gates_of(layer.cell) * hidden;
    Expect("recurrent", "the weight", layer.weight.value()).shape({gates, hidden});
    Expect("recurrent", "the input's gates", x.value()).shape({steps, batch, gates});
    if (layer.bias) Expect("recurrent", "the bias", layer.bias.value()).parameter_of(x.value()).shape({gates});
    const auto expect_initial = [&](const char* what, const Var& initial) {
      if (initial) Expect("recurrent", what, initial.value()).like(x.value()).shape({batch, hidden});
    };
    expect_initial("the initial state", layer.initial.state);
    expect_initial("the initial cell state", layer.initial.cell_state);
    expect_lengths("recurrent", layer.lengths, batch, x.device());

    const bool needs_backward = Tape::current() != nullptr && saved_of(layer.cell) > 0;
    const auto sequence = [&](int64_t count, int64_t width) {
      return empty({count, batch, width}, x.dtype(), x.device());
    };
    args = {.cell = layer.cell,
            .x_gates = x.value(),
            .weight = layer.weight.value(),
            .bias = layer.bias.value(),
            .initial_state = layer.initial.state.value(),
            .initial_cell_state = layer.initial.cell_state.value(),
            .lengths = layer.lengths,
            .states = sequence(steps + 1, hidden),
            .cell_states = layer.cell == Cell::kLstm ? sequence(steps + 1, hidden) : Tensor(),
            .saved = needs_backward ? sequence(steps, saved_of(layer.cell) * hidden) : Tensor(),
            .reverse = layer.reverse,
            .precision = product_precision()};
  }

  int64_t steps() const { return x_gates.dim(0); }
  Tensor outputs() const { return config.reverse ? args.states.slice(0, steps()) : args.states.slice(1, steps() + 1); }
  Tensor final_cell_state() const {
    return args.cell_states ? args.cell_states[config.reverse ? 0 : steps()] : Tensor();
  }
  Unrolled unrolled(const Var& y, const Var& cell_state) const {
    const Var state = steps() == 0 ? config.initial.state : y[config.reverse ? 0 : steps() - 1];
    return {y, {state, args.cell_states ? cell_state : Var()}};
  }

  RecurrentGradArgs gradient(const Tensor& dy, const Tensor& dcell_state) const {
    return {.cell = args.cell,
            .weight = args.weight,
            .lengths = args.lengths,
            .states = args.states,
            .cell_states = args.cell_states,
            .saved = args.saved,
            .dstates = dy ? dy : zeros_like(outputs()),
            .dfinal_cell_state = dcell_state,
            .dx_gates = x_gates.grad(),
            .dh_gates = empty(x_gates.shape(), x_gates.dtype(), x_gates.device()),
            .dinitial_state = config.initial.state.grad(),
            .dinitial_cell_state = config.initial.cell_state.grad(),
            .reverse = args.reverse,
            .precision = args.precision};
  }
  // Computes the gradients of weight and bias after those of the gates: one product and one sum for all steps.
  void finish(const RecurrentGradArgs& done) const {
    const Device d = x_gates.device();
    const int64_t rows = steps() * x_gates.dim(1), gates = x_gates.dim(2), hidden = config.weight.dim(1);
    const Tensor before = config.reverse ? args.states.slice(1, steps() + 1) : args.states.slice(0, steps());
    const Tensor dh_gates = done.dh_gates.reshape({rows, gates});
    if (config.weight.needs_grad()) {
      Tape::current()->defer_product(
          config.weight, {.x = before.reshape({rows, hidden}), .dy = dh_gates, .precision = args.precision});
    }
    if (config.bias.needs_grad()) {
      kernels(d).reduce(stream(d), {.op = ReduceOp::kSum,
                                    .x = dh_gates,
                                    .y = config.bias.grad(),
                                    .count = rows,
                                    .inner = gates,
                                    .accumulate = true});
    }
  }
  void back(const Tensor& dy, const Tensor& dcell_state) const {
    const RecurrentGradArgs gradients = gradient(dy, dcell_state);
    kernels(x_gates.device()).recurrent_grad(stream(x_gates.device()), gradients);
    finish(gradients);
  }
};

template <class Back> Unrolled add_layer_node(const Layer& layer, Back&& back) {
  const Recurrent& config = layer.config;
  auto [y, cell_state] =
      Tape::add_node(layer.outputs(), layer.final_cell_state(),
                     {layer.x_gates, config.weight, config.bias, config.initial.state, config.initial.cell_state},
                     std::forward<Back>(back));
  return layer.unrolled(y, cell_state);
}

}  // namespace

Unrolled recurrent(const Var& x_gates, const Recurrent& config) {
  const Layer layer(x_gates, config);
  kernels(x_gates.device()).recurrent(stream(x_gates.device()), layer.args);
  return add_layer_node(layer, [layer](const Tensor& dy, const Tensor& dcell_state) { layer.back(dy, dcell_state); });
}

// In backward, the node of the second layer runs first: it stores its gradients for the node of the first layer, which
// computes the gradients of both layers in one kernel.
std::pair<Unrolled, Unrolled> recurrent_both(const Var& x_gates, const Recurrent& config, const Var& other_gates,
                                             const Recurrent& other) {
  const Layer first(x_gates, config), second(other_gates, other);
  RecurrentArgs both = first.args;
  both.concurrent = &second.args;
  const Device d = x_gates.device();
  kernels(d).recurrent(stream(d), both);
  // Allocated from the tape, which calls no destructors; tensors of the pass own nothing.
  struct Pending {
    Tensor dy, dcell_state;
    bool present = false;
  };
  Tape* tape = Tape::current();
  Pending* pending = tape != nullptr ? new (tape->allocate(sizeof(Pending))) Pending() : nullptr;
  const Unrolled a = add_layer_node(first, [first, second, pending, d](const Tensor& dy, const Tensor& dcell_state) {
    if (!pending->present) return first.back(dy, dcell_state);
    RecurrentGradArgs gradients = first.gradient(dy, dcell_state);
    const RecurrentGradArgs others = second.gradient(pending->dy, pending->dcell_state);
    gradients.concurrent = &others;
    kernels(d).recurrent_grad(stream(d), gradients);
    first.finish(gradients);
    second.finish(others);
  });
  const Gradient* of_first = a.states.gradient();
  const Unrolled b = add_layer_node(second, [second, pending, of_first](const Tensor& dy, const Tensor& dcell_state) {
    if (of_first == nullptr || !of_first->present()) return second.back(dy, dcell_state);
    *pending = {dy, dcell_state, true};
    for (const Tensor& x : {dy, dcell_state}) {
      if (x) Tape::current()->retain(x);
    }
  });
  return {a, b};
}

}  // namespace fovea
