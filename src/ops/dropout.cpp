// y = x mask / (1 - rate), alone or after a ReLU. The mask is never stored: backward recomputes it from the same
// counters, or after a ReLU reads it off y.
#include "ops/check.h"
#include "ops/dropout_stream.h"
#include "ops/ops.h"

namespace fovea {

namespace {

// `gate` is the input of a ReLU before the dropout, or absent.
Var drop(const Var& x, float rate, const RandomStream& random, int64_t period, const Tensor& gate) {
  const Device d = x.device();
  const DropoutArgs args{
      .x = x.value(), .y = empty_like(x.value()), .gate = gate, .rate = rate, .random = random, .period = period};
  kernels(d).dropout(stream(d), args);
  return Tape::add_node(args.y, {x}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.grad_slot();
    DropoutArgs back = args;
    back.x = dy;
    back.y = dx;
    if (args.gate) {  // y is above 0 exactly where x was kept: no random numbers are needed
      back.gate = args.y;
      back.random = {};
    }
    back.accumulate = accumulate;
    kernels(d).dropout(stream(d), back);
  });
}

}  // namespace

Var dropout(const Var& x, float rate, bool across_steps) {
  Expect("dropout", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  const RandomStream random = dropout_stream(rate);
  return random.step ? drop(x, rate, random, across_steps ? x.shape().count(1, x.rank()) : x.size(), {}) : x;
}

Var relu_dropout(const Var& x, float rate) {
  Expect("relu_dropout", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  const RandomStream random = dropout_stream(rate);
  return random.step ? drop(x, rate, random, x.size(), x.value()) : relu(x);
}

}  // namespace fovea
