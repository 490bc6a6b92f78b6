// y = x keep / (1 - rate), alone, after a ReLU or onto a residual. The mask is never stored: it is drawn again in
// backward from the same counters, or seen in y.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

namespace {

// Whether anything is dropped now.
bool drops(const Var& x, float rate) {
  Expect("dropout", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  check(rate >= 0.0f && rate < 1.0f, "dropout: expected a rate in [0,1), got {}", rate);
  const Tape* tape = Tape::current();
  return rate > 0.0f && tape != nullptr && tape->training();
}

struct Also {
  Var base;     // what is added to
  Tensor gate;  // what went into a ReLU before
  int64_t period = 0;
};

Var drop(const Var& x, float rate, const Also& also) {
  const Device d = x.device();
  const DropoutArgs args{.x = x.value(),
                         .y = empty_like(x.value()),
                         .base = also.base.value(),
                         .gate = also.gate,
                         .rate = rate,
                         .random = Tape::current()->next_random(),
                         .period = also.period > 0 ? also.period : x.size()};
  kernels(d).dropout(stream(d), args);
  return Tape::record(args.y, {also.base, x}, [=, base = also.base](const Tensor& dy) {
    if (x.needs_grad()) {
      const auto [dx, accumulate] = x.grad_slot();
      DropoutArgs back = args;
      back.x = dy;
      back.y = dx;
      back.base = {};
      if (args.gate) {  // what came out is above 0 where it was kept: nothing has to be drawn
        back.gate = args.y;
        back.random = {};
      }
      back.accumulate = accumulate;
      kernels(d).dropout(stream(d), back);
    }
    if (!base.needs_grad() || Tape::current()->hand_over(base)) return;
    const auto [dbase, accumulate] = base.grad_slot();
    kernels(d).affine(stream(d), {.x = dy, .y = dbase, .accumulate = accumulate});
  });
}

}  // namespace

Var dropout(const Var& x, float rate, bool across_steps) {
  if (!drops(x, rate)) return x;
  return drop(x, rate, {.period = across_steps ? x.shape().count(1, x.rank()) : 0});
}

Var relu_dropout(const Var& x, float rate) { return drops(x, rate) ? drop(x, rate, {.gate = x.value()}) : relu(x); }

Var add_dropout(const Var& base, const Var& x, float rate) {
  Expect("dropout", "what is added to", base.value()).like(x.value()).shape(x.shape());
  return drops(x, rate) ? drop(x, rate, {.base = base}) : base + x;
}

}  // namespace fovea
