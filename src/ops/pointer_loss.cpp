// The loss of a pointer-generator for known targets: neither forward nor backward has a tensor of the vocabulary's size
// besides the logits that made nll.
#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var pointer_loss(const Var& weights, const Var& nll, const Var& gate, const PointerTargets& targets) {
  Expect("pointer_loss", "weights", weights.value()).elements().rank(4);
  const ScoreShape shape{weights.dim(0), weights.dim(1), weights.dim(2), weights.dim(3)};
  const Shape rows = {shape.queries, shape.batch};
  const Device d = weights.device();
  Expect("pointer_loss", "the source", targets.source).dtype(DType::kI32).on(d).shape({shape.batch, shape.keys});
  Expect("pointer_loss", "targets", targets.targets).dtype(DType::kI32).on(d).shape(rows);
  check(static_cast<bool>(nll) == static_cast<bool>(gate), "pointer_loss: expected nll and gate together");
  if (nll) {
    Expect("pointer_loss", "nll", nll.value()).parameter_of(weights.value()).shape(rows);
    Expect("pointer_loss", "the gate", gate.value()).parameter_of(weights.value()).shape(rows);
  }
  const auto value_of = [](const Var& x) { return x ? x.value() : Tensor(); };
  const DType statistics = accumulator_of(weights.dtype());
  const Tensor copied = empty(rows, statistics, d), loss = empty(rows, statistics, d);
  const auto vocabulary = static_cast<int32_t>(targets.vocabulary);
  kernels(d).pointer_loss(stream(d), {.weights = weights.value(),
                                      .source = targets.source,
                                      .targets = targets.targets,
                                      .nll = value_of(nll),
                                      .gate = value_of(gate),
                                      .copied = copied,
                                      .loss = loss,
                                      .shape = shape,
                                      .vocabulary = vocabulary,
                                      .ignore = targets.ignore});
  const auto backward = [=](const Tensor& dloss) {
    const auto grad_of = [](const Var& x) { return x && x.needs_grad() ? x.grad() : Tensor(); };
    kernels(d).pointer_loss_grad(stream(d), {.source = targets.source,
                                             .targets = targets.targets,
                                             .nll = value_of(nll),
                                             .gate = value_of(gate),
                                             .copied = copied,
                                             .dloss = dloss,
                                             .dweights = grad_of(weights),
                                             .dnll = grad_of(nll),
                                             .dgate = grad_of(gate),
                                             .shape = shape,
                                             .vocabulary = vocabulary,
                                             .ignore = targets.ignore});
  };
  if (!nll) return Tape::add_node(loss, {weights}, backward);
  return Tape::add_node(loss, {weights, nll, gate}, backward);
}

}  // namespace fovea
