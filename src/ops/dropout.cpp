// y = x keep / (1 - rate). The mask is drawn again in backward from the same counters, never stored.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var dropout(const Var& x, float rate, bool across_steps) {
  Expect("dropout", "x", x.value()).elements().rank(1, Shape::kMaxRank);
  check(rate >= 0.0f && rate < 1.0f, "dropout: expected a rate in [0,1), got {}", rate);
  Tape* tape = Tape::current();
  if (rate == 0.0f || tape == nullptr || !tape->training()) return x;
  const Device d = x.device();
  const Tensor y = empty_like(x.value());
  DropoutArgs args{.x = x.value(), .y = y, .rate = rate, .random = tape->next_random(), .period = x.size()};
  if (across_steps) args.period = x.shape().count(1, x.rank());
  kernels(d).dropout(stream(d), args);
  return Tape::record(y, {x}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.grad_slot();
    DropoutArgs back = args;
    back.x = dy;
    back.y = dx;
    back.accumulate = accumulate;
    kernels(d).dropout(stream(d), back);
  });
}

Var relu_dropout(const Var& x, float rate) {
  Tape* tape = Tape::current();
  if (rate == 0.0f || tape == nullptr || !tape->training()) return relu(x);
  const Device d = x.device();
  const DropoutArgs args{.x = x.value(),
                         .y = empty_like(x.value()),
                         .gate = x.value(),
                         .rate = rate,
                         .random = tape->next_random(),
                         .period = x.size()};
  kernels(d).dropout(stream(d), args);
  return Tape::record(args.y, {x}, [=](const Tensor& dy) {
    const auto [dx, accumulate] = x.grad_slot();
    DropoutArgs back = args;
    back.x = dy;
    back.y = dx;
    back.accumulate = accumulate;
    kernels(d).dropout(stream(d), back);
  });
}

Var add_dropout(const Var& base, const Var& x, float rate) {
  Expect("dropout", "what is added to", base.value()).like(x.value()).shape(x.shape());
  Tape* tape = Tape::current();
  if (rate == 0.0f || tape == nullptr || !tape->training()) return base + x;
  const Device d = x.device();
  const DropoutArgs args{.x = x.value(),
                         .y = empty_like(x.value()),
                         .base = base.value(),
                         .rate = rate,
                         .random = tape->next_random(),
                         .period = x.size()};
  kernels(d).dropout(stream(d), args);
  return Tape::record(args.y, {base, x}, [=](const Tensor& dy) {
    if (x.needs_grad()) {
      const auto [dx, accumulate] = x.grad_slot();
      kernels(d).dropout(
          stream(d),
          {.x = dy, .y = dx, .rate = rate, .random = args.random, .period = args.period, .accumulate = accumulate});
    }
    if (!base.needs_grad() || Tape::current()->hand_over(base)) return;
    const auto [dbase, accumulate] = base.grad_slot();
    kernels(d).affine(stream(d), {.x = dy, .y = dbase, .accumulate = accumulate});
  });
}

}  // namespace fovea
