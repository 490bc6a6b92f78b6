#include "nn/recurrent.h"

namespace fovea {

RecurrentCell::RecurrentCell(Parameters& parameters, const std::string& name, Cell cell, int64_t in, int64_t hidden)
    : cell_(cell),
      hidden_(hidden),
      input_(parameters, name + ".input", in, gates_of(cell) * hidden),
      weight_(&parameters.add(name + ".state.weight", {gates_of(cell) * hidden, hidden}, Initialiser::orthogonal())),
      bias_(&parameters.add(name + ".state.bias", {gates_of(cell) * hidden},
                            cell == Cell::kLstm ? Initialiser::forget_gate() : Initialiser::constant(0.0))) {}

State RecurrentCell::step(const Var& x_gates, const State& before) const {
  return cell(cell_, x_gates, linear(before.state, *weight_, *bias_), before);
}

Unrolled RecurrentCell::unroll(const Var& x, const State& initial, const Tensor& lengths, bool reverse) const {
  return unroll_gates(input_(x), initial, lengths, reverse);
}

Unrolled RecurrentCell::unroll_gates(const Var& x_gates, const State& initial, const Tensor& lengths,
                                     bool reverse) const {
  return recurrent(
      x_gates,
      {.cell = cell_, .weight = *weight_, .bias = *bias_, .initial = initial, .lengths = lengths, .reverse = reverse});
}

std::pair<Unrolled, Unrolled> RecurrentCell::unroll_bidirectional(const RecurrentCell& reversed, const Var& x,
                                                                  const Tensor& lengths) const {
  const auto options_of = [&](const RecurrentCell& cell, bool reverse) {
    return Recurrent{
        .cell = cell.cell_, .weight = *cell.weight_, .bias = *cell.bias_, .lengths = lengths, .reverse = reverse};
  };
  return recurrent_both(input_(x), options_of(*this, false), reversed.input_(x), options_of(reversed, true));
}

State RecurrentCell::zero_state(int64_t batch, DType dtype, Device device) const {
  const auto zero = [&] { return Var(zeros({batch, hidden_}, dtype, device)); };
  return {zero(), cell_ == Cell::kLstm ? zero() : Var()};
}

RecurrentStack::RecurrentStack(Parameters& parameters, const std::string& name, int64_t in, int64_t hidden,
                               const RecurrentOptions& options)
    : options_(options) {
  const int directions = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const int64_t width = layer == 0 ? in : directions * hidden;
    for (int direction = 0; direction < directions; ++direction) {
      cells_.emplace_back(parameters, fmt::format("{}.{}.{}", name, layer, direction == 0 ? "forward" : "backward"),
                          options.cell, width, hidden);
    }
  }
}

Var RecurrentStack::operator()(const Var& x, const Tensor& lengths, std::vector<State>* final) const {
  if (final != nullptr) final->clear();
  const auto collect = [&](const Unrolled& result) {
    if (final != nullptr) final->push_back(result.final);
    return result.states;
  };
  Var y = x;
  const size_t directions = options_.bidirectional ? 2 : 1;
  for (size_t first = 0; first < cells_.size(); first += directions) {
    if (first > 0) y = dropout(y, options_.dropout, /*across_steps=*/true);
    const RecurrentCell& ahead = cells_[first];
    Var above;
    if (directions == 1) {
      above = collect(ahead.unroll(y, {}, lengths, false));
    } else {
      const auto [forward, backward] = ahead.unroll_bidirectional(cells_[first + 1], y, lengths);
      above = concat({collect(forward), collect(backward)}, 2);
    }
    y = first > 0 && options_.residual ? above + y : above;
  }
  return y;
}

}  // namespace fovea
