// Fused additive attention for the steps of a decoder: scores, softmax and weighted sum in one kernel where the backend
// has one. The gradients of keys, values and v are deferred and computed for all steps together.
#include "ops/check.h"
#include "ops/deferred_steps.h"
#include "ops/heads.h"
#include "ops/ops.h"

namespace fovea {

namespace {

struct AdditiveStep {
  Tensor query, dscore, weights, dout;
};

class DeferredAdditiveAttention final : public DeferredSteps<AdditiveStep> {
 public:
  struct Context {
    Var keys, values, v;
    Tensor lengths;
    int64_t heads;
    Precision precision;
  };
  explicit DeferredAdditiveAttention(const Context& context) : context_(context) {}

  void flush(Tape& tape) override {
    const auto& [keys, values, v, lengths, heads, precision] = context_;
    const Device d = keys.device();
    const int64_t steps = queries(&AdditiveStep::query), batch = keys.dim(1), rows = batch * heads;
    const Shape of_scores = {batch, heads, steps, keys.dim(0)};
    kernels(d).additive_score_grad(stream(d), {.query = joined(&AdditiveStep::query, 1, {steps, batch, keys.dim(2)}),
                                               .keys = keys.value(),
                                               .v = v.value(),
                                               .lengths = lengths,
                                               .dscore = joined(&AdditiveStep::dscore, rows, of_scores),
                                               .dkeys = keys.grad(),
                                               .dv = v.grad(),
                                               .heads = heads});
    if (values.needs_grad()) {
      const Tensor weights = joined(&AdditiveStep::weights, rows, of_scores);
      const Tensor dout = joined(&AdditiveStep::dout, 1, {steps, batch, values.dim(2)});
      const auto [dvalues, accumulate] = values.grad_slot();
      kernels(d).matmul(stream(d), {.a = per_head(weights, true),
                                    .b = per_head(dout, heads),
                                    .c = per_head(dvalues, heads),
                                    .m = keys.dim(0),
                                    .n = values.dim(2) / heads,
                                    .k = steps,
                                    .batch = rows,
                                    .accumulate = accumulate,
                                    .precision = precision});
    }
    release(tape);
  }

 private:
  Context context_;
};

}  // namespace

Attended additive_attention(const Var& query, const Var& keys, const Var& v, const Var& values,
                            const AdditiveAttention& options) {
  expect_sequences("additive_attention", query.value(), keys.value());
  const int64_t heads = options.heads, batch = query.dim(1);
  expect_heads("additive_attention", heads, query.dim(2));
  check(keys.dim(2) == query.dim(2), "additive_attention: expected keys of depth {}, got {}", query.dim(2),
        keys.shape());
  Expect("additive_attention", "v", v.value()).parameter_of(query.value()).shape({query.dim(2)});
  Expect("additive_attention", "the values", values.value()).like(query.value()).rank(3);
  check(values.dim(0) == keys.dim(0) && values.dim(1) == batch && values.dim(2) % heads == 0,
        "additive_attention: expected values [{},{},D] with D a multiple of {} heads, got {}", keys.dim(0), batch,
        heads, values.shape());
  expect_lengths("additive_attention", options.lengths, batch, query.device());
  const Device d = query.device();
  const Precision precision = product_precision();
  const Tensor weights = empty({batch, heads, query.dim(0), keys.dim(0)}, query.dtype(), d);
  const Tensor out = empty(query.shape().with(2, values.dim(2)), query.dtype(), d);
  kernels(d).additive_attention(stream(d), {.query = query.value(),
                                            .keys = keys.value(),
                                            .v = v.value(),
                                            .values = values.value(),
                                            .lengths = options.lengths,
                                            .weights = weights,
                                            .out = out,
                                            .heads = heads,
                                            .precision = precision});
  const Var y = Tape::add_node(out, {query, keys, v, values}, [=](const Tensor& dout) {
    const Tensor dscore = empty_like(weights);
    Gradient::Slot to = query.needs_grad() ? query.grad_slot() : Gradient::Slot{};
    const Tensor dquery = to.accumulate && to.tensor ? empty_like(to.tensor) : to.tensor;
    kernels(d).additive_attention_grad(stream(d), {.query = query.value(),
                                                   .keys = keys.value(),
                                                   .v = v.value(),
                                                   .values = values.value(),
                                                   .lengths = options.lengths,
                                                   .weights = weights,
                                                   .dout = dout,
                                                   .dscore = dscore,
                                                   .dquery = dquery,
                                                   .heads = heads,
                                                   .precision = precision});
    if (dquery.raw() != to.tensor.raw()) {
      kernels(d).affine(stream(d), {.x = dquery, .y = to.tensor, .accumulate = true});
    }
    Tape& tape = *Tape::current();
    const DeferredAdditiveAttention::Context context{keys, values, v, options.lengths, heads, precision};
    const AdditiveStep step{query.value(), dscore, weights, dout};
    if (keys.needs_grad()) {
      tape.retain(dout);
      return tape.defer_gradient<DeferredAdditiveAttention>(keys, context, step);
    }
    DeferredAdditiveAttention alone(context);
    alone.add(tape, step);
    alone.flush(tape);
  });
  return {y, weights};
}

}  // namespace fovea
