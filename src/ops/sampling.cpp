// A one-hot sample or maximum of each row, and the k largest elements.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var sample_one_hot(const Var& weights, bool stochastic, bool straight_through) {
  Expect("sample_one_hot", "weights", weights.value()).elements().rank(1, Shape::kMaxRank);
  Tape* tape = Tape::current();
  const Device d = weights.device();
  SampleArgs args{.weights = weights.value(), .one_hot = empty_like(weights.value())};
  if (stochastic && tape != nullptr) args.random = tape->next_random_stream();
  kernels(d).sample(stream(d), args);
  return Tape::add_node_if(straight_through && weights.needs_grad(), args.one_hot, [=](const Tensor& dy) {
    kernels(d).affine(stream(d), {.x = dy, .y = weights.grad(), .accumulate = true});
  });
}

TopK top_k(const Tensor& x, int64_t k) {
  Expect("top_k", "x", x).elements().rank(1, Shape::kMaxRank);
  check(k >= 1, "top_k: expected a k of at least 1, got {}", k);
  const Shape shape = x.shape().with(-1, k);
  const TopK largest{empty(shape, x.dtype(), x.device()), empty(shape, DType::kI32, x.device())};
  kernels(x.device()).top_k(stream(x.device()), {.x = x, .values = largest.values, .index = largest.index, .k = k});
  return largest;
}

}  // namespace fovea
