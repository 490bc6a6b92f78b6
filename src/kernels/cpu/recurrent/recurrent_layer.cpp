// Whole recurrent layers in one direction: each step multiplies the state by the weight and applies the cell. Backward
// runs the steps in reverse order and writes the gate gradients time-major, so that the gradient of the weight is one
// GEMM after the loop.
//
// All steps run in one parallel region. Sentences are independent, so a team of threads with some of the sentences runs
// all steps without waiting for the other teams. Within a team, each thread has some of the units: it computes their
// gates, then the units themselves, and waits for the team before the next step.
#include <algorithm>
#include <array>

#include "base/threads.h"
#include "kernels/cpu/common/spin_barrier.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/gemm/panel_gemm.h"
#include "kernels/cpu/recurrent/cell.h"
#include "tensor/arena.h"

namespace fovea::cpu {

namespace {

// Returns a buffer that outlives the call and only grows.
Tensor workspace(Tensor& kept, const Shape& shape) {
  if (!kept || kept.size() < shape.count()) {
    const ArenaScope heap(nullptr);
    kept = empty({shape.count()}, DType::kF32, Device::cpu());
  }
  return kept.slice(0, shape.count()).reshape(shape);
}

// Returns step t of a tensor that may be absent.
Tensor at(const Tensor& x, int64_t t) { return x ? x[t] : Tensor(); }

void set(const Tensor& to, const Tensor& from) {
  if (from) return copy(from, to);
  zero_memory(to.device(), to.raw(), to.bytes());
}

// The order of the steps and the indices of their states in [T+1,B,H].
struct Steps {
  int64_t count;
  bool reverse;

  int64_t time(int64_t step) const { return reverse ? count - 1 - step : step; }
  int64_t before(int64_t t) const { return reverse ? t + 1 : t; }
  int64_t after(int64_t t) const { return reverse ? t : t + 1; }
  int64_t first() const { return reverse ? count : 0; }
};

// The part of a layer that one thread computes: rows and panels of 32 units, and the barrier of its team.
struct Share {
  int64_t row_begin, row_end, panel_begin, panel_end;
  Barrier* team;
  int team_size;

  int64_t rows() const { return row_end - row_begin; }
  void wait() const { team->wait(team_size); }
};

// Selects the number of teams and threads per team that finish first. Of equally fast ones it takes the most teams,
// which wait least; but a team has at least kMinRows rows, because with fewer it would spend its time reading the
// weight.
struct Teams {
  static constexpr int64_t kMinRows = 16, kMaxTeams = 64;
  int64_t count = 1, size = 1;
};
Teams teams_for(int64_t rows, int64_t panels, int64_t threads) {
  Teams best;
  int64_t least = rows * panels;
  for (int64_t count = 1; count <= std::clamp<int64_t>(rows / Teams::kMinRows, 1, Teams::kMaxTeams); ++count) {
    const int64_t size = std::min(threads / count, panels);
    if (size == 0) break;
    const int64_t time = ((rows + count - 1) / count) * ((panels + size - 1) / size);
    if (time > least) continue;
    least = time;
    best = {.count = count, .size = size};
  }
  return best;
}

// Calls body(share) on each thread, for a layer whose steps cost `rows` * `work` multiplications.
template <class Body> void share_out(int64_t rows, int64_t hidden, int64_t work, Body&& body) {
  constexpr int64_t kGrain = 1 << 16;  // fewest multiplications of a step for another thread
  const int64_t panels = (hidden + kPanel - 1) / kPanel;
  const int64_t threads = std::clamp<int64_t>(rows * work / kGrain, 1, thread_count());
  const Teams wanted = teams_for(rows, panels, threads);
  std::array<Barrier, Teams::kMaxTeams> barriers;
  parallel_parts(static_cast<int>(wanted.count * wanted.size), [&](int part, int of) {
    const Teams teams = teams_for(rows, panels, of);  // there may be fewer threads than requested
    const int64_t team = part / teams.size, place = part % teams.size;
    if (team >= teams.count) return;
    body(Share{.row_begin = rows * team / teams.count,
               .row_end = rows * (team + 1) / teams.count,
               .panel_begin = panels * place / teams.size,
               .panel_end = panels * (place + 1) / teams.size,
               .team = &barriers[static_cast<size_t>(team)],
               .team_size = static_cast<int>(teams.size)});
  });
}

Rows rows_of(const Tensor& x, const Share& share) {
  const int64_t width = x.dim(1);
  return {.view = view_of({.tensor = x, .row_stride = width, .offset = share.row_begin * width}), .m = share.rows()};
}

CellBlock block_of(const Share& share, int64_t hidden, const Tensor& lengths, int64_t t) {
  return {.row_begin = share.row_begin,
          .row_end = share.row_end,
          .begin = share.panel_begin * kPanel,
          .end = std::min(share.panel_end * kPanel, hidden),
          .lengths = lengths.data<int32_t>(),
          .t = t};
}

// The projection of the state. The weight is packed gate by gate, so that the panels of all gates contain the same
// units.
class GateProduct {
 public:
  explicit GateProduct(const RecurrentArgs& args)
      : hidden_(args.weight.dim(1)), gates_(gates_of(args.cell)), bias_(args.bias.data<float>()) {
    static thread_local std::array<Workspace, kMaxGates> buffer;
    for (size_t g = 0; g < static_cast<size_t>(gates_); ++g) {
      const Matrix gate = {.tensor = args.weight,
                           .row_stride = hidden_,
                           .offset = static_cast<int64_t>(g) * hidden_ * hidden_,
                           .transposed = true,
                           .weight = true};
      weights_[g] = panel_weight(gate, hidden_, hidden_, args.precision, buffer[g]);
    }
  }

  // Computes the share's rows and units of h_gates [B,G*H].
  void multiply(const Tensor& state, const Share& share, float* h_gates) const {
    const PanelRows rows = panel_rows(rows_of(state, share), weights_[0]);
    for (int64_t g = 0; g < gates_; ++g) {
      cpu::multiply(rows, weights_[static_cast<size_t>(g)], share.panel_begin, share.panel_end,
                    {.data = h_gates + (share.row_begin * gates_ + g) * hidden_,
                     .row_stride = gates_ * hidden_,
                     .bias = bias_ ? bias_ + g * hidden_ : nullptr});
    }
  }
  // Sets h_gates for a state of zeros: the bias alone.
  void of_zeros(const Share& share, float* h_gates) const {
    const int64_t begin = share.panel_begin * kPanel, end = std::min(share.panel_end * kPanel, hidden_);
    for (int64_t row = share.row_begin * gates_; row < share.row_end * gates_; ++row) {
      const float* bias = bias_ ? bias_ + row % gates_ * hidden_ : nullptr;
      for (int64_t j = begin; j < end; ++j) h_gates[row * hidden_ + j] = bias ? bias[j] : 0.0f;
    }
  }

 private:
  static constexpr size_t kMaxGates = 4;

  int64_t hidden_, gates_;
  const float* bias_;
  std::array<PanelWeight, kMaxGates> weights_;
};

}  // namespace

void recurrent(Stream& stream, const RecurrentArgs& args) {
  if (args.concurrent != nullptr) recurrent(stream, *args.concurrent);
  static thread_local Tensor kept_gates;
  const int64_t B = args.states.dim(1), H = args.states.dim(2), G = gates_of(args.cell);
  const Steps steps = {.count = args.x_gates.dim(0), .reverse = args.reverse};
  set(args.states[steps.first()], args.initial_state);
  if (args.cell_states) set(args.cell_states[steps.first()], args.initial_cell_state);
  if (steps.count == 0 || B == 0 || H == 0) return;

  const GateProduct product(args);
  const Tensor h_gates = workspace(kept_gates, {B, G * H});
  share_out(B, H, G * H * H, [&](const Share& share) {
    for (int64_t step = 0; step < steps.count; ++step) {
      const int64_t t = steps.time(step), before = steps.before(t), after = steps.after(t);
      const Tensor state = args.states[before];
      if (step > 0 || args.initial_state) {
        product.multiply(state, share, h_gates.data<float>());
      } else {
        product.of_zeros(share, h_gates.data<float>());
      }
      cell_forward({.cell = args.cell,
                    .x_gates = args.x_gates[t],
                    .h_gates = h_gates,
                    .state = state,
                    .cell_state = at(args.cell_states, before),
                    .new_state = args.states[after],
                    .new_cell_state = at(args.cell_states, after),
                    .saved = at(args.saved, t)},
                   block_of(share, H, args.lengths, t));
      share.wait();
    }
  });
}

void recurrent_grad(Stream& stream, const RecurrentGradArgs& args) {
  if (args.concurrent != nullptr) recurrent_grad(stream, *args.concurrent);
  static thread_local Tensor kept_state, saved_cell_state;
  static thread_local Workspace buffer;
  const int64_t B = args.states.dim(1), H = args.states.dim(2), G = gates_of(args.cell);
  const Steps steps = {.count = args.states.dim(0) - 1, .reverse = args.reverse};
  const Tensor dstate = workspace(kept_state, {B, H});
  const Tensor dcell_state = args.cell_states ? workspace(saved_cell_state, {B, H}) : Tensor();
  set(dstate, {});
  if (dcell_state) {
    set(dcell_state, {});
    if (args.dfinal_cell_state) affine(stream, {.x = args.dfinal_cell_state, .y = dcell_state});
  }

  if (steps.count > 0 && B > 0 && H > 0) {
    const Matrix matrix = {.tensor = args.weight, .row_stride = H, .weight = true};
    const PanelWeight weight = panel_weight(matrix, H, G * H, args.precision, buffer);
    const bool shared = args.dx_gates.raw() == args.dh_gates.raw();
    share_out(B, H, G * H * H, [&](const Share& share) {
      const auto through_gates = [&](int64_t t) {
        multiply(panel_rows(rows_of(args.dh_gates[t], share), weight), weight, share.panel_begin, share.panel_end,
                 {.data = dstate.data<float>() + share.row_begin * H, .row_stride = H, .accumulate = true});
      };
      for (int64_t step = steps.count - 1; step >= 0; --step) {
        const int64_t t = steps.time(step), before = steps.before(t), after = steps.after(t);
        if (step + 1 < steps.count) through_gates(steps.time(step + 1));
        cell_backward({.cell = args.cell,
                       .state = args.states[before],
                       .cell_state = at(args.cell_states, before),
                       .new_state = args.states[after],
                       .new_cell_state = at(args.cell_states, after),
                       .saved = at(args.saved, t),
                       .dnew_state = args.dstates[t],
                       .dx_gates = shared ? Tensor() : at(args.dx_gates, t),
                       .dh_gates = args.dh_gates[t],
                       .dstate = dstate,
                       .dcell_state = dcell_state},
                      block_of(share, H, args.lengths, t));
        share.wait();
      }
      if (args.dinitial_state) through_gates(steps.time(0));
    });
  }
  if (args.dinitial_state) affine(stream, {.x = dstate, .y = args.dinitial_state, .accumulate = true});
  if (args.dinitial_cell_state) affine(stream, {.x = dcell_state, .y = args.dinitial_cell_state, .accumulate = true});
}

}  // namespace fovea::cpu
