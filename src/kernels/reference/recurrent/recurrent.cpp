// Recurrent cells and layers: Elman's tanh cell (1990), GRU (Cho et al. 2014, with the reset gate after the projection
// of the state) and LSTM (Hochreiter & Schmidhuber 1997, Gers et al. 2000). kernels.h has the equations.
#include <cassert>
#include <cmath>
#include <vector>

#include "kernels/pointwise.h"
#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"
#include "kernels/unfused.h"

namespace fovea::reference {

namespace {

using pointwise::sigmoid;

// The operands of a cell for one sentence at one step; gates and saved contain blocks of H.
template <class T> struct Row {
  const T *x, *h, *state, *cell_state;
  T *new_state, *new_cell_state, *saved;
};
// The operands of its gradient. Pointers of the second line may be null if a gradient is absent, those of the third if
// it is not requested.
template <class T> struct RowGrad {
  const T *state, *cell_state, *new_state, *new_cell_state, *saved;
  const T *dnew_state, *dnew_cell_state;
  T *dx, *dh, *dstate, *dcell_state;
};

template <class T> T value_or_zero(const T* x, int64_t i) { return x != nullptr ? x[i] : T(0); }
template <class T> void add(T* x, int64_t i, T value) {
  if (x != nullptr) x[i] += value;
}
template <class T> void save_values(T* saved, int64_t H, int64_t j, const T (&values)[4]) {
  for (int64_t k = 0; saved != nullptr && k < 4; ++k) saved[k * H + j] = values[k];
}

// The equations of unit j of H, forward and backward.
struct TanhUnit {
  template <class T> static void forward(const Row<T>& r, int64_t, int64_t j) {
    r.new_state[j] = std::tanh(r.x[j] + r.h[j]);
  }
  template <class T> static void backward(const RowGrad<T>& r, int64_t, int64_t j) {
    const T da = value_or_zero(r.dnew_state, j) * (1 - r.new_state[j] * r.new_state[j]);
    add(r.dx, j, da);
    add(r.dh, j, da);
  }
};

struct GruUnit {
  template <class T> static void forward(const Row<T>& row, int64_t H, int64_t j) {
    const T hn = row.h[2 * H + j];
    const T r = sigmoid(row.x[j] + row.h[j]);
    const T z = sigmoid(row.x[H + j] + row.h[H + j]);
    const T n = std::tanh(row.x[2 * H + j] + r * hn);
    row.new_state[j] = (1 - z) * n + z * row.state[j];
    save_values(row.saved, H, j, {r, z, n, hn});
  }
  template <class T> static void backward(const RowGrad<T>& row, int64_t H, int64_t j) {
    const T r = row.saved[j], z = row.saved[H + j], n = row.saved[2 * H + j], hn = row.saved[3 * H + j];
    const T dh = value_or_zero(row.dnew_state, j);
    const T dn = dh * (1 - z) * (1 - n * n);  // gradient of the argument of the tanh of n
    const T dz = dh * (row.state[j] - n) * z * (1 - z);
    const T dr = dn * hn * r * (1 - r);
    add(row.dx, j, dr);
    add(row.dx, H + j, dz);
    add(row.dx, 2 * H + j, dn);
    add(row.dh, j, dr);
    add(row.dh, H + j, dz);
    add(row.dh, 2 * H + j, dn * r);
    add(row.dstate, j, dh * z);
  }
};

struct LstmUnit {
  template <class T> static void forward(const Row<T>& row, int64_t H, int64_t j) {
    const T i = sigmoid(row.x[j] + row.h[j]);
    const T f = sigmoid(row.x[H + j] + row.h[H + j]);
    const T g = std::tanh(row.x[2 * H + j] + row.h[2 * H + j]);
    const T o = sigmoid(row.x[3 * H + j] + row.h[3 * H + j]);
    row.new_cell_state[j] = f * row.cell_state[j] + i * g;
    row.new_state[j] = o * std::tanh(row.new_cell_state[j]);
    save_values(row.saved, H, j, {i, f, g, o});
  }
  template <class T> static void backward(const RowGrad<T>& row, int64_t H, int64_t j) {
    const T i = row.saved[j], f = row.saved[H + j], g = row.saved[2 * H + j], o = row.saved[3 * H + j];
    const T dh = value_or_zero(row.dnew_state, j), tanh_c = std::tanh(row.new_cell_state[j]);
    const T dc = value_or_zero(row.dnew_cell_state, j) + dh * o * (1 - tanh_c * tanh_c);
    const T dgates[4] = {dc * g * i * (1 - i), dc * row.cell_state[j] * f * (1 - f), dc * i * (1 - g * g),
                         dh * tanh_c * o * (1 - o)};
    for (int64_t k = 0; k < 4; ++k) {
      add(row.dx, k * H + j, dgates[k]);
      add(row.dh, k * H + j, dgates[k]);
    }
    add(row.dcell_state, j, dc * f);
  }
};

template <class Body> void with_unit(Cell cell, Body&& body) {
  switch (cell) {
    case Cell::kTanh: return body(TanhUnit{});
    case Cell::kGru: return body(GruUnit{});
    case Cell::kLstm: return body(LstmUnit{});
  }
}
template <class T> void step(Cell cell, const Row<T>& row, int64_t H) {
  assert(row.x && row.h && row.state && row.new_state);
  assert(cell != Cell::kLstm || (row.cell_state && row.new_cell_state));
  with_unit(cell, [&](auto unit) {
    for (int64_t j = 0; j < H; ++j) unit.forward(row, H, j);
  });
}
template <class T> void step_back(Cell cell, const RowGrad<T>& row, int64_t H) {
  assert(row.state && row.new_state);
  assert(cell == Cell::kTanh || row.saved);
  assert(cell != Cell::kLstm || (row.cell_state && row.new_cell_state));
  with_unit(cell, [&](auto unit) {
    for (int64_t j = 0; j < H; ++j) unit.backward(row, H, j);
  });
}

// Returns row n of a matrix of this width, null if it is absent.
template <class T> T* row_of(const Tensor& x, int64_t n, int64_t width) {
  return x ? x.data<T>() + n * width : nullptr;
}

}  // namespace

void cell(Stream&, const CellArgs& args) {
  const int64_t B = args.new_state.dim(0), H = args.new_state.dim(1);
  const int64_t G = gates_of(args.cell), saved = saved_of(args.cell);
  with_type_of(args.new_state, [&]<class T>(T) {
    for (int64_t b = 0; b < B; ++b)
      step<T>(args.cell,
              {.x = row_of<T>(args.x_gates, b, G * H),
               .h = row_of<T>(args.h_gates, b, G * H),
               .state = row_of<T>(args.state, b, H),
               .cell_state = row_of<T>(args.cell_state, b, H),
               .new_state = row_of<T>(args.new_state, b, H),
               .new_cell_state = row_of<T>(args.new_cell_state, b, H),
               .saved = row_of<T>(args.saved, b, saved * H)},
              H);
  });
}

void cell_grad(Stream&, const CellGradArgs& args) {
  zero_unless(args.accumulate, {args.dh_gates});
  const int64_t B = args.new_state.dim(0), H = args.new_state.dim(1);
  const int64_t G = gates_of(args.cell), saved = saved_of(args.cell);
  with_type_of(args.new_state, [&]<class T>(T) {
    for (int64_t b = 0; b < B; ++b)
      step_back<T>(args.cell,
                   {.state = row_of<T>(args.state, b, H),
                    .cell_state = row_of<T>(args.cell_state, b, H),
                    .new_state = row_of<T>(args.new_state, b, H),
                    .new_cell_state = row_of<T>(args.new_cell_state, b, H),
                    .saved = row_of<T>(args.saved, b, saved * H),
                    .dnew_state = row_of<T>(args.dnew_state, b, H),
                    .dnew_cell_state = row_of<T>(args.dnew_cell_state, b, H),
                    .dx = row_of<T>(args.dx_gates, b, G * H),
                    .dh = row_of<T>(args.dh_gates, b, G * H),
                    .dstate = row_of<T>(args.dstate, b, H),
                    .dcell_state = row_of<T>(args.dcell_state, b, H)},
                   H);
  });
}

namespace {

// The iteration over the steps of a layer: the indices of its states, and the steps of each sentence.
class Walk {
 public:
  template <class Args>
  explicit Walk(const Args& args)
      : steps_(args.states.dim(0) - 1), batch_(args.states.dim(1)), lengths_(args.lengths), reverse_(args.reverse) {}

  int64_t steps() const { return steps_; }
  int64_t step(int64_t k) const { return reverse_ ? steps_ - 1 - k : k; }  // the k-th step in the order of computation
  bool present(int64_t t, int64_t b) const { return !lengths_ || t < lengths_.data<int32_t>()[b]; }
  // Return rows of sentence b: of [T,B,.] at a step, and of [T+1,B,.] before and after it.
  int64_t row(int64_t t, int64_t b) const { return t * batch_ + b; }
  int64_t before(int64_t t, int64_t b) const { return row(reverse_ ? t + 1 : t, b); }
  int64_t after(int64_t t, int64_t b) const { return row(reverse_ ? t : t + 1, b); }
  int64_t start(int64_t b) const { return row(reverse_ ? steps_ : 0, b); }

 private:
  int64_t steps_, batch_;
  Tensor lengths_;
  bool reverse_;
};

template <class T> void copy_row(const T* from, T* to, int64_t width) {
  for (int64_t j = 0; to != nullptr && j < width; ++j) to[j] = value_or_zero(from, j);
}

}  // namespace

void recurrent(Stream& stream, const RecurrentArgs& args) {
  if (args.concurrent != nullptr) recurrent(stream, *args.concurrent);
  const Walk walk(args);
  const int64_t B = args.states.dim(1), H = args.states.dim(2);
  const int64_t gates = gates_of(args.cell) * H, saved = saved_of(args.cell) * H;
  with_type_of(args.states, [&]<class T>(T) {
    const auto weight = view<T>(args.weight, gates, H);
    const T* bias = args.bias.data<T>();
    std::vector<T> h_gates(static_cast<size_t>(gates));
    for (int64_t b = 0; b < B; ++b) {
      copy_row(row_of<T>(args.initial_state, b, H), row_of<T>(args.states, walk.start(b), H), H);
      copy_row(row_of<T>(args.initial_cell_state, b, H), row_of<T>(args.cell_states, walk.start(b), H), H);
      for (int64_t k = 0; k < walk.steps(); ++k) {
        const int64_t t = walk.step(k);
        const Row<T> row = {.x = row_of<T>(args.x_gates, walk.row(t, b), gates),
                            .h = h_gates.data(),
                            .state = row_of<T>(args.states, walk.before(t, b), H),
                            .cell_state = row_of<T>(args.cell_states, walk.before(t, b), H),
                            .new_state = row_of<T>(args.states, walk.after(t, b), H),
                            .new_cell_state = row_of<T>(args.cell_states, walk.after(t, b), H),
                            .saved = row_of<T>(args.saved, walk.row(t, b), saved)};
        if (!walk.present(t, b)) {  // the saved values of such a step are never read
          copy_row(row.state, row.new_state, H);
          copy_row(row.cell_state, row.new_cell_state, H);
          continue;
        }
        for (int64_t g = 0; g < gates; ++g) {
          T sum = value_or_zero(bias, g);
          for (int64_t i = 0; i < H; ++i) sum += weight(g, i) * row.state[i];
          h_gates[static_cast<size_t>(g)] = sum;
        }
        step(args.cell, row, H);
      }
    }
  });
}

void recurrent_grad(Stream& stream, const RecurrentGradArgs& args) {
  if (args.concurrent != nullptr) recurrent_grad(stream, *args.concurrent);
  const Walk walk(args);
  const int64_t B = args.states.dim(1), H = args.states.dim(2);
  const int64_t gates = gates_of(args.cell) * H, saved = saved_of(args.cell) * H;
  const bool shared = args.dx_gates && args.dx_gates.raw() == args.dh_gates.raw();
  with_type_of(args.states, [&]<class T>(T) {
    const auto weight = view<T>(args.weight, gates, H);
    for (int64_t b = 0; b < B; ++b) {
      // The gradients of the states after a step; each step replaces them by those before it.
      std::vector<T> dstate(static_cast<size_t>(H)), dcell_state(static_cast<size_t>(H));
      copy_row(row_of<T>(args.dfinal_cell_state, b, H), dcell_state.data(), H);
      for (int64_t k = walk.steps() - 1; k >= 0; --k) {
        const int64_t t = walk.step(k);
        const T* doutput = row_of<T>(args.dstates, walk.row(t, b), H);
        for (int64_t j = 0; j < H; ++j) dstate[static_cast<size_t>(j)] += doutput[j];

        std::vector<T> dx(static_cast<size_t>(gates)), dh(static_cast<size_t>(gates));
        if (walk.present(t, b)) {
          std::vector<T> dbefore(static_cast<size_t>(H)), dcell_state_before(static_cast<size_t>(H));
          step_back<T>(args.cell,
                       {.state = row_of<T>(args.states, walk.before(t, b), H),
                        .cell_state = row_of<T>(args.cell_states, walk.before(t, b), H),
                        .new_state = row_of<T>(args.states, walk.after(t, b), H),
                        .new_cell_state = row_of<T>(args.cell_states, walk.after(t, b), H),
                        .saved = row_of<T>(args.saved, walk.row(t, b), saved),
                        .dnew_state = dstate.data(),
                        .dnew_cell_state = dcell_state.data(),
                        .dx = dx.data(),
                        .dh = dh.data(),
                        .dstate = dbefore.data(),
                        .dcell_state = dcell_state_before.data()},
                       H);
          for (int64_t g = 0; g < gates; ++g)
            for (int64_t i = 0; i < H; ++i)
              dbefore[static_cast<size_t>(i)] += weight(g, i) * dh[static_cast<size_t>(g)];
          dstate = dbefore;
          dcell_state = dcell_state_before;
        }
        copy_row<T>(dh.data(), row_of<T>(args.dh_gates, walk.row(t, b), gates), gates);
        T* dx_gates = shared ? nullptr : row_of<T>(args.dx_gates, walk.row(t, b), gates);
        for (int64_t g = 0; g < gates; ++g) add(dx_gates, g, dx[static_cast<size_t>(g)]);
      }
      for (int64_t j = 0; j < H; ++j) {
        add(row_of<T>(args.dinitial_state, b, H), j, dstate[static_cast<size_t>(j)]);
        add(row_of<T>(args.dinitial_cell_state, b, H), j, dcell_state[static_cast<size_t>(j)]);
      }
    }
  });
}

}  // namespace fovea::reference
