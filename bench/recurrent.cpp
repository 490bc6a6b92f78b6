// Recurrent layers as a share of the rate of matrix products. The forward pass of a layer is the product of the input
// for the whole sequence and the recurrent kernel. Its backward pass is the backward kernel, one product for each of
// dW_x, dW_h and dx, and the sums for both biases. Layers are compared with their products alone, timed in the same
// run:
//   of the rate:   every product is computed once, over all T*B rows, with packed weights
//   of the steps:  the same, but the products with the state are computed T times over B rows, as the recurrence needs
#include <fmt/format.h>

#include <cmath>

#include "base/random.h"
#include "base/threads.h"
#include "bench/harness.h"
#include "kernels/kernels.h"

namespace {

using namespace fovea;

const Device kCpu = Device::cpu();

struct Case {
  Cell cell;
  DType dtype;  // of the elements; products of bf16 elements are bf16 products
  int64_t hidden, batch, steps;

  std::string name() const {
    return fmt::format("{} {} H{} B{} T{}", cell == Cell::kGru ? "gru" : "lstm", name_of(dtype), hidden, batch, steps);
  }
  Precision precision() const { return dtype == DType::kBF16 ? Precision::kBF16 : Precision::kF32; }
};

Tensor cast(const Tensor& x, DType dtype, Device device) {
  const Tensor here = empty(x.shape(), dtype, kCpu);
  kernels(kCpu).affine(stream(kCpu), {.x = x, .y = here});
  return to_device(here, device);
}

Tensor random_tensor(Random& random, const Shape& shape, DType dtype, double scale) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (float& value : values) value = static_cast<float>(random.uniform(-scale, scale));
  return cast(from_host(values, shape, kCpu), dtype, kCpu);
}

// A layer whose input is as wide as its state, with all tensors of both passes.
class Layer {
 public:
  explicit Layer(const Case& c)
      : c_(c), rows_(c.steps * c.batch), hidden_(c.hidden), gates_(gates_of(c.cell) * c.hidden) {
    const double scale = 1 / std::sqrt(static_cast<double>(hidden_));
    Random random(11);
    const Shape states = {c.steps + 1, c.batch, hidden_}, gates = {c.steps, c.batch, gates_};
    x_ = random_tensor(random, {c.steps, c.batch, hidden_}, c.dtype, 1);
    dy_ = random_tensor(random, {c.steps, c.batch, hidden_}, c.dtype, 1);
    for (Tensor* weight : {&w_x_, &w_h_}) *weight = random_tensor(random, {gates_, hidden_}, DType::kF32, scale);
    for (Tensor* bias : {&b_x_, &b_h_}) *bias = random_tensor(random, {gates_}, DType::kF32, scale);
    for (Tensor* d : {&dw_x_, &dw_h_}) *d = zeros({gates_, hidden_}, DType::kF32, kCpu);
    for (Tensor* d : {&db_x_, &db_h_}) *d = zeros({gates_}, DType::kF32, kCpu);
    for (Tensor* g : {&x_gates_, &dx_gates_, &dh_gates_}) *g = zeros(gates, c.dtype, kCpu);
    states_ = zeros(states, c.dtype, kCpu);
    if (c.cell == Cell::kLstm) cell_states_ = zeros(states, c.dtype, kCpu);
    saved_ = zeros({c.steps, c.batch, saved_of(c.cell) * hidden_}, c.dtype, kCpu);
    dx_ = zeros({c.steps, c.batch, hidden_}, c.dtype, kCpu);
    initial_ = random_tensor(random, {c.batch, hidden_}, c.dtype, 1);
    dinitial_ = zeros({c.batch, hidden_}, c.dtype, kCpu);
    step_gates_ = zeros({c.batch, gates_}, DType::kF32, kCpu);
    step_state_ = zeros({c.batch, hidden_}, DType::kF32, kCpu);
  }

  void forward() {
    times_weight(x_, w_x_, b_x_, x_gates_);
    recurrent();
  }
  void recurrent() { kernels(kCpu).recurrent(stream(kCpu), forward_args()); }

  void backward() {
    zero_memory(kCpu, dx_gates_.raw(), dx_gates_.bytes());  // the kernel accumulates into it
    recurrent_backward();
    weight_products();
    for (const auto& [gates, bias] : {std::pair{dx_gates_, db_x_}, {dh_gates_, db_h_}}) {
      kernels(kCpu).reduce(
          stream(kCpu),
          {.op = ReduceOp::kSum, .x = gates, .y = bias, .count = rows_, .inner = gates_, .accumulate = true});
    }
  }
  void recurrent_backward() { kernels(kCpu).recurrent_grad(stream(kCpu), backward_args()); }

  // The products alone; with `in_steps` those with the state are computed step by step.
  void forward_products(bool in_steps) {
    times_weight(x_, w_x_, b_x_, x_gates_);
    if (in_steps) return step_products();
    times_weight(states_.slice(0, c_.steps), w_h_, b_h_, dh_gates_);
  }
  void step_products() {
    for (int64_t t = 0; t < c_.steps; ++t) times_weight(states_[t], w_h_, b_h_, step_gates_);
  }
  void backward_products(bool in_steps) {
    if (in_steps) {
      backward_step_products();
    } else {
      times_weight_back(dh_gates_, w_h_, dx_, false);
    }
    weight_products();
  }
  void backward_step_products() {
    for (int64_t t = 0; t < c_.steps; ++t) times_weight_back(dh_gates_[t], w_h_, step_state_, true);
  }

  double forward_flops() const { return 2.0 * 2 * static_cast<double>(rows_ * gates_ * hidden_); }

  // Compares the first steps with the reference.
  void check() {
    constexpr int64_t kSteps = 2;
    Case shorter = c_;
    shorter.steps = kSteps;
    Layer layer(shorter);
    layer.forward();
    layer.recurrent_backward();
    RecurrentArgs forward = layer.forward_args();
    for (Tensor RecurrentArgs::*field :
         {&RecurrentArgs::x_gates, &RecurrentArgs::weight, &RecurrentArgs::bias, &RecurrentArgs::initial_state,
          &RecurrentArgs::states, &RecurrentArgs::cell_states, &RecurrentArgs::saved}) {
      if (forward.*field) forward.*field = cast(forward.*field, DType::kF32, Device::reference());
    }
    kernels(Device::reference()).recurrent(stream(Device::reference()), forward);
    RecurrentGradArgs backward = layer.backward_args();
    for (Tensor RecurrentGradArgs::*field :
         {&RecurrentGradArgs::weight, &RecurrentGradArgs::dstates, &RecurrentGradArgs::dx_gates,
          &RecurrentGradArgs::dh_gates, &RecurrentGradArgs::dinitial_state}) {
      backward.*field = cast(backward.*field, DType::kF32, Device::reference());
    }
    for (const Tensor& d : {backward.dx_gates, backward.dinitial_state}) zero_memory(d.device(), d.raw(), d.bytes());
    backward.states = forward.states, backward.cell_states = forward.cell_states, backward.saved = forward.saved;
    kernels(Device::reference()).recurrent_grad(stream(Device::reference()), backward);
    expect_near("states", layer.states_, forward.states);
    expect_near("dx_gates", layer.dx_gates_, backward.dx_gates);
    expect_near("dh_gates", layer.dh_gates_, backward.dh_gates);
    expect_near("dinitial_state", layer.dinitial_, backward.dinitial_state);
  }

 private:
  RecurrentArgs forward_args() const {
    return {.cell = c_.cell,
            .x_gates = x_gates_,
            .weight = w_h_,
            .bias = b_h_,
            .initial_state = initial_,
            .states = states_,
            .cell_states = cell_states_,
            .saved = saved_,
            .precision = c_.precision()};
  }
  RecurrentGradArgs backward_args() const {
    return {.cell = c_.cell,
            .weight = w_h_,
            .states = states_,
            .cell_states = cell_states_,
            .saved = saved_,
            .dstates = dy_,
            .dx_gates = dx_gates_,
            .dh_gates = dh_gates_,
            .dinitial_state = dinitial_,
            .precision = c_.precision()};
  }

  // y [.,G*H] = x [.,H] weight^T + bias
  void times_weight(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y) const {
    kernels(kCpu).matmul(stream(kCpu),
                         {.a = {.tensor = x, .row_stride = hidden_},
                          .b = {.tensor = weight, .row_stride = hidden_, .transposed = true, .weight = true},
                          .c = {.tensor = y, .row_stride = gates_},
                          .bias = bias,
                          .m = x.size() / hidden_,
                          .n = gates_,
                          .k = hidden_,
                          .precision = c_.precision()});
  }
  // dx [.,H] (+)= dy [.,G*H] weight
  void times_weight_back(const Tensor& dy, const Tensor& weight, const Tensor& dx, bool accumulate) const {
    kernels(kCpu).matmul(stream(kCpu), {.a = {.tensor = dy, .row_stride = gates_},
                                        .b = {.tensor = weight, .row_stride = hidden_, .weight = true},
                                        .c = {.tensor = dx, .row_stride = hidden_},
                                        .m = dy.size() / gates_,
                                        .n = hidden_,
                                        .k = gates_,
                                        .accumulate = accumulate,
                                        .precision = c_.precision()});
  }
  // dweight [G*H,H] += dy^T x
  void weight_gradient(const Tensor& dy, const Tensor& x, const Tensor& dweight) const {
    kernels(kCpu).matmul(stream(kCpu), {.a = {.tensor = dy, .row_stride = gates_, .transposed = true},
                                        .b = {.tensor = x, .row_stride = hidden_},
                                        .c = {.tensor = dweight, .row_stride = hidden_},
                                        .m = gates_,
                                        .n = hidden_,
                                        .k = rows_,
                                        .accumulate = true,
                                        .precision = c_.precision()});
  }
  void weight_products() const {
    weight_gradient(dh_gates_, states_, dw_h_);
    weight_gradient(dx_gates_, x_, dw_x_);
    times_weight_back(dx_gates_, w_x_, dx_, false);
  }

  void expect_near(const char* what, const Tensor& got, const Tensor& expected) const {
    const Tensor values = cast(got, DType::kF32, kCpu);
    const double tolerance = c_.dtype == DType::kBF16 ? 6 * 0x1p-8 : 64 * 0x1p-23;
    for (int64_t i = 0; i < values.size(); ++i) {
      const double x = values.data<float>()[i], y = expected.data<float>()[i];
      if (!(std::abs(x - y) <= tolerance * std::max(1.0, std::abs(y)))) {
        bench::wrong(fmt::format("{}: {}[{}] is {}, expected {}", c_.name(), what, i, x, y));
      }
    }
  }

  Case c_;
  int64_t rows_, hidden_, gates_;
  Tensor x_, w_x_, b_x_, w_h_, b_h_, x_gates_, states_, cell_states_, saved_;
  Tensor dy_, dx_, dw_x_, db_x_, dw_h_, db_h_, dx_gates_, dh_gates_;
  Tensor initial_, dinitial_;  // without an initial state each pass would save a product
  Tensor step_gates_, step_state_;
};

std::vector<Case> cases(const bench::Options& options) {
  std::vector<Case> all;
  for (const auto& [batch, steps] : {std::pair<int64_t, int64_t>{64, 25}, {32, 50}}) {
    for (const Cell cell : {Cell::kGru, Cell::kLstm}) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        for (const int64_t hidden : {256, 512, 1024}) {
          const Case c = {.cell = cell, .dtype = dtype, .hidden = hidden, .batch = batch, .steps = steps};
          if (options.quick && (hidden > 256 || batch != 64)) continue;
          if (c.name().find(options.filter) != std::string::npos) all.push_back(c);
        }
      }
    }
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv, "Recurrent layers as a share of the matrix-product rate");
  if (options.threads > 0) set_thread_count(options.threads);
  fmt::print("{} threads on {}\n", thread_count(), bench::processor_name());

  bench::Table layers("layers",
                      {"layer", "pass", "ms", "spread", "GFLOP/s", "products ms", "of the rate", "of the steps"});
  bench::Table kernels_alone("recurrent kernels", {"layer", "pass", "ms", "spread", "step products ms", "share"});
  for (const Case& c : cases(options)) {
    Layer layer(c);
    layer.check();
    const auto time =
        bench::measure(options, {[&] { layer.forward(); }, [&] { layer.forward_products(false); },
                                 [&] { layer.forward_products(true); }, [&] { layer.forward(), layer.backward(); },
                                 [&] { layer.forward_products(false), layer.backward_products(false); },
                                 [&] { layer.forward_products(true), layer.backward_products(true); }});
    const auto add = [&](const char* pass, double flops, const bench::Timing* t) {
      layers.add(c.name(), pass, t[0].median * 1e3, bench::spread(t[0]), flops / t[0].median * 1e-9, t[1].median * 1e3,
                 bench::ratio(t[1], t[0]), bench::ratio(t[2], t[0]));
    };
    add("forward", layer.forward_flops(), &time[0]);
    add("both", 3 * layer.forward_flops(), &time[3]);
  }
  for (const Case& c : cases(options)) {
    Layer layer(c);
    layer.forward();
    const auto time =
        bench::measure(options, {[&] { layer.recurrent(); }, [&] { layer.step_products(); },
                                 [&] { layer.recurrent_backward(); }, [&] { layer.backward_step_products(); }});
    const auto add = [&](const char* pass, const bench::Timing* t) {
      kernels_alone.add(c.name(), pass, t[0].median * 1e3, bench::spread(t[0]), t[1].median * 1e3,
                        bench::ratio(t[1], t[0]));
    };
    add("forward", &time[0]);
    add("backward", &time[2]);
  }
  bench::report(options, {&layers, &kernels_alone});
}
