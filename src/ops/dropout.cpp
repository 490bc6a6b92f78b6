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
    DropoutArgs back = args;
    back.x = dy;
    back.y = x.grad();
    back.accumulate = true;
    kernels(d).dropout(stream(d), back);
  });
}

}  // namespace fovea
