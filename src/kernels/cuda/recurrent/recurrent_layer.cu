// Recurrent cells, and whole layers in one direction: each step multiplies the state by the weight and applies the
// cell. Backward runs the steps in reverse order and writes the gate gradients time-major, so that the gradient of the
// weight is one GEMM after the loop. Each thread computes one unit. persistent_layer.cu is faster for the sizes that it
// supports.
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/recurrent/cell_math.h"
#include "kernels/cuda/recurrent/recurrent_layer.h"

namespace fovea::cuda {

namespace {

template <Cell kCell, class T, class H> __global__ void step_kernel(const __grid_constant__ CellStep<T, H> x) {
  for (int64_t i = first_element(); i < x.batch * x.hidden; i += element_stride()) {
    step_unit<kCell>(x, i / x.hidden, i % x.hidden);
  }
}
template <Cell kCell, class T> __global__ void step_back_kernel(const __grid_constant__ CellStepGrad<T> x) {
  for (int64_t i = first_element(); i < x.batch * x.hidden; i += element_stride()) {
    step_back_unit<kCell>(x, i / x.hidden, i % x.hidden);
  }
}

template <class T, class H> void step(Stream& stream, Cell cell, const CellStep<T, H>& x) {
  with_cell(cell, [&](auto kind) {
    launch(stream, step_kernel<decltype(kind)::value, T, H>, elements_grid(x.batch * x.hidden), x);
  });
}
template <class T> void step_back(Stream& stream, Cell cell, const CellStepGrad<T>& x) {
  with_cell(cell, [&](auto kind) {
    launch(stream, step_back_kernel<decltype(kind)::value, T>, elements_grid(x.batch * x.hidden), x);
  });
}

// to (+)= from, with conversion between f32 and the element type.
template <class From, class To> __global__ void carry_kernel(const From* from, To* to, int64_t count, bool accumulate) {
  for (int64_t i = first_element(); i < count; i += element_stride()) {
    store(to + i, (from != nullptr ? load(from + i) : 0.0f) + (accumulate ? load(to + i) : 0.0f));
  }
}

// Returns row t of a tensor with rows of this size, or null if it is absent.
template <class T> T* at(const Tensor& x, int64_t t, int64_t size) { return x ? x.data<T>() + t * size : nullptr; }

template <class T> void layer(Stream& stream, const RecurrentArgs& args) {
  const int64_t B = args.states.dim(1), H = args.states.dim(2), G = gates_of(args.cell), S = saved_of(args.cell);
  const Steps steps = {.count = args.x_gates.dim(0), .reverse = args.reverse};
  const auto begin_with = [&](const Tensor& initial, const Tensor& states) {
    if (!states) return;
    launch(stream, carry_kernel<T, T>, elements_grid(B * H), initial.data<T>(), at<T>(states, steps.first(), B * H),
           B * H, false);
  };
  begin_with(args.initial_state, args.states);
  begin_with(args.initial_cell_state, args.cell_states);
  if (steps.count == 0 || B == 0 || H == 0) return;

  Workspace workspace(stream);
  float* h_gates = workspace.allocate<float>(B * G * H);
  Factor weight = weight_factor(args.weight, args.states.dtype(), args.precision);
  weight.transposed = true;
  for (int64_t k = 0; k < steps.count; ++k) {
    const int64_t t = steps.time(k), before = steps.before(t), after = steps.after(t);
    const T* state = at<T>(args.states, before, B * H);
    const bool zeros = k == 0 && !args.initial_state;
    if (!zeros) {
      gemm(stream, {.a = {.data = state, .dtype = args.states.dtype(), .row_stride = H},
                    .b = weight,
                    .c = {.data = h_gates, .dtype = DType::kF32, .row_stride = G * H},
                    .m = B,
                    .n = G * H,
                    .k = H,
                    .precision = args.precision});
    }
    step(stream, args.cell,
         CellStep<T, float>{.x_gates = at<T>(args.x_gates, t, B * G * H),
                            .h_gates = zeros ? nullptr : h_gates,
                            .h_bias = args.bias.data<float>(),
                            .state = state,
                            .cell_state = at<T>(args.cell_states, before, B * H),
                            .new_state = at<T>(args.states, after, B * H),
                            .new_cell_state = at<T>(args.cell_states, after, B * H),
                            .saved = S > 0 ? at<T>(args.saved, t, B * S * H) : nullptr,
                            .lengths = args.lengths.data<int32_t>(),
                            .t = t,
                            .batch = B,
                            .hidden = H});
  }
}

template <class T> void layer_back(Stream& stream, const RecurrentGradArgs& args) {
  const int64_t B = args.states.dim(1), H = args.states.dim(2), G = gates_of(args.cell), S = saved_of(args.cell);
  const Steps steps = {.count = args.states.dim(0) - 1, .reverse = args.reverse};
  Workspace workspace(stream);
  float* dstate = workspace.allocate<float>(B * H);
  float* dcell_state = args.cell_states ? workspace.allocate<float>(B * H) : nullptr;
  const auto carry = [&](auto* from, auto* to, bool accumulate) {
    using From = std::remove_cvref_t<decltype(*from)>;
    using To = std::remove_cvref_t<decltype(*to)>;
    launch(stream, carry_kernel<From, To>, elements_grid(B * H), from, to, B * H, accumulate);
  };
  carry(static_cast<const T*>(nullptr), dstate, false);
  if (dcell_state != nullptr) carry(static_cast<const T*>(args.dfinal_cell_state.data<T>()), dcell_state, false);

  const bool shared = args.dx_gates.raw() == args.dh_gates.raw();
  if (B > 0 && H > 0 && steps.count > 0) {
    const Factor weight = weight_factor(args.weight, args.states.dtype(), args.precision);
    for (int64_t k = steps.count - 1; k >= 0; --k) {
      const int64_t t = steps.time(k), before = steps.before(t), after = steps.after(t);
      T* dh_gates = at<T>(args.dh_gates, t, B * G * H);
      step_back(stream, args.cell,
                CellStepGrad<T>{.state = at<T>(args.states, before, B * H),
                                .cell_state = at<T>(args.cell_states, before, B * H),
                                .new_state = at<T>(args.states, after, B * H),
                                .new_cell_state = at<T>(args.cell_states, after, B * H),
                                .saved = S > 0 ? at<T>(args.saved, t, B * S * H) : nullptr,
                                .dnew_state = at<T>(args.dstates, t, B * H),
                                .dx_gates = shared ? nullptr : at<T>(args.dx_gates, t, B * G * H),
                                .dh_gates = dh_gates,
                                .carried_state = dstate,
                                .carried_cell_state = dcell_state,
                                .lengths = args.lengths.data<int32_t>(),
                                .t = t,
                                .batch = B,
                                .hidden = H});
      if (k == 0 && !args.dinitial_state) continue;  // no gradient of the initial state is requested
      gemm(stream, {.a = {.data = dh_gates, .dtype = args.dh_gates.dtype(), .row_stride = G * H},
                    .b = weight,
                    .c = {.data = dstate, .dtype = DType::kF32, .row_stride = H},
                    .m = B,
                    .n = H,
                    .k = G * H,
                    .accumulate = true,
                    .precision = args.precision});
    }
  }
  if (args.dinitial_state) carry(static_cast<const float*>(dstate), args.dinitial_state.data<T>(), true);
  if (args.dinitial_cell_state) carry(static_cast<const float*>(dcell_state), args.dinitial_cell_state.data<T>(), true);
}

}  // namespace

void cell(Stream& stream, const CellArgs& args) {
  with_type_of(args.new_state, [&]<class T>(T) {
    step(stream, args.cell,
         CellStep<T, T>{.x_gates = args.x_gates.data<T>(),
                        .h_gates = args.h_gates.data<T>(),
                        .state = args.state.data<T>(),
                        .cell_state = args.cell_state.data<T>(),
                        .new_state = args.new_state.data<T>(),
                        .new_cell_state = args.new_cell_state.data<T>(),
                        .saved = args.saved.data<T>(),
                        .batch = args.new_state.dim(0),
                        .hidden = args.new_state.dim(1)});
  });
}

void cell_grad(Stream& stream, const CellGradArgs& args) {
  with_type_of(args.new_state, [&]<class T>(T) {
    step_back(stream, args.cell,
              CellStepGrad<T>{.state = args.state.data<T>(),
                              .cell_state = args.cell_state.data<T>(),
                              .new_state = args.new_state.data<T>(),
                              .new_cell_state = args.new_cell_state.data<T>(),
                              .saved = args.saved.data<T>(),
                              .dnew_state = args.dnew_state.data<T>(),
                              .dnew_cell_state = args.dnew_cell_state.data<T>(),
                              .dx_gates = args.dx_gates.data<T>(),
                              .dh_gates = args.dh_gates.data<T>(),
                              .dstate = args.dstate.data<T>(),
                              .dcell_state = args.dcell_state.data<T>(),
                              .batch = args.new_state.dim(0),
                              .hidden = args.new_state.dim(1),
                              .fresh = !args.accumulate});
  });
}

void layers(Stream& stream, std::span<const RecurrentArgs> all) {
  if (persistent_layers(stream, all)) return;
  for (const RecurrentArgs& args : all) {
    if (all.size() > 1 && persistent_layers(stream, {&args, 1})) continue;
    with_type_of(args.states, [&]<class T>(T) { layer<T>(stream, args); });
  }
}
void layers_grad(Stream& stream, std::span<const RecurrentGradArgs> all) {
  if (persistent_layers_grad(stream, all)) return;
  for (const RecurrentGradArgs& args : all) {
    if (all.size() > 1 && persistent_layers_grad(stream, {&args, 1})) continue;
    with_type_of(args.states, [&]<class T>(T) { layer_back<T>(stream, args); });
  }
}

void recurrent(Stream& stream, const RecurrentArgs& args) {
  if (args.concurrent == nullptr) return layers(stream, {&args, 1});
  const RecurrentArgs both[] = {args, *args.concurrent};
  layers(stream, both);
}

void recurrent_grad(Stream& stream, const RecurrentGradArgs& args) {
  if (args.concurrent == nullptr) return layers_grad(stream, {&args, 1});
  const RecurrentGradArgs both[] = {args, *args.concurrent};
  layers_grad(stream, both);
}

}  // namespace fovea::cuda
