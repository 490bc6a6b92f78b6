// The building blocks of attention: scores (dot product, additive), the weighted sum, fused scaled-dot attention, and
// Luong's Gaussian window. Heads are slices of the last axis: matrix (b,h) of a sequence [T,B,H*d] starts at element
// (b*H+h)*d and its rows are B*H*d apart, so that nothing is transposed in memory.
#include <cmath>

#include "ops/check.h"
#include "ops/deferred_steps.h"
#include "ops/heads.h"
#include "ops/ops.h"

namespace fovea {

namespace {

struct DotStep {
  Tensor query, out, lse, dout;
};

// Steps without dropout, bias or causal mask: one kernel computes the gradients of their keys and values together.
class DeferredDotAttention final : public DeferredSteps<DotStep> {
 public:
  struct Context {
    Var keys, values;
    Mask mask;
    int64_t heads;
    float scale;
  };
  explicit DeferredDotAttention(const Context& context) : context_(context) {}
  static bool applies(const DotAttentionArgs& args) {
    constexpr int64_t kMaxQueries = 8;
    return !args.query.device().on_host() && args.query.dim(0) <= kMaxQueries && args.dropout == 0.0f &&
           !args.mask.bias && !args.mask.causal;
  }

  void flush(Tape& tape) override {
    const auto& [keys, values, mask, heads, scale] = context_;
    const Device d = keys.device();
    const int64_t steps = queries(&DotStep::query), batch = keys.dim(1);
    const Shape of_values = {steps, batch, values.dim(2)};
    kernels(d).dot_attention_grad(stream(d), {.query = joined(&DotStep::query, 1, {steps, batch, keys.dim(2)}),
                                              .keys = keys.value(),
                                              .values = values.value(),
                                              .out = joined(&DotStep::out, 1, of_values),
                                              .lse = joined(&DotStep::lse, batch * heads, {batch, heads, steps}),
                                              .dout = joined(&DotStep::dout, 1, of_values),
                                              .dkeys = keys.grad(),
                                              .dvalues = values.grad(),
                                              .heads = heads,
                                              .scale = scale,
                                              .mask = mask});
    release(tape);
  }

 private:
  Context context_;
};

// Allocates the gradients of all these values without zeroing them and returns true, so that the kernel may overwrite
// them; or returns false if one of them has a gradient already, if two of them are the same tensor (as keys and values
// may be), or if they are parts of a tensor that they do not cover.
bool allocate_unset_gradients(std::initializer_list<Var> all) {
  const auto whole_of = [](const Var& x) {
    Gradient* own = x.gradient();
    return own != nullptr && own->whole != nullptr ? own->whole : own;
  };
  for (const Var& x : all) {
    const Gradient* whole = whole_of(x);
    if (whole == nullptr || whole->present()) return false;
    int64_t count = 0;
    for (const Var& y : all) {
      if (whole_of(y) != whole) continue;
      const bool again = &x != &y && x.gradient()->offset == y.gradient()->offset;
      if (again) return false;
      count += y.size();
    }
    if (count != whole->shape.count()) return false;
  }
  for (const Var& x : all) {
    if (!whole_of(x)->sum) static_cast<void>(whole_of(x)->slot());
  }
  return true;
}

}  // namespace

Var dot_score(const Var& query, const Var& keys, int64_t heads, float scale) {
  expect_sequences("dot_score", query.value(), keys.value());
  expect_heads("dot_score", heads, query.dim(2));
  check(keys.dim(2) == query.dim(2), "dot_score: expected keys of depth {}, got {}", query.dim(2), keys.shape());
  const int64_t queries = query.dim(0), count = keys.dim(0), batch = query.dim(1) * heads, depth = query.dim(2) / heads;
  const Device d = query.device();
  const Precision precision = product_precision();
  const Tensor y = empty({query.dim(1), heads, queries, count}, query.dtype(), d);
  kernels(d).matmul(stream(d), {.a = per_head(query.value(), heads),
                                .b = per_head(keys.value(), heads, true),
                                .c = per_head(y),
                                .m = queries,
                                .n = count,
                                .k = depth,
                                .batch = batch,
                                .alpha = scale,
                                .precision = precision});
  return Tape::add_node(y, {query, keys}, [=](const Tensor& dy) {
    if (query.needs_grad()) {
      kernels(d).matmul(stream(d), {.a = per_head(dy),
                                    .b = per_head(keys.value(), heads),
                                    .c = per_head(query.grad(), heads),
                                    .m = queries,
                                    .n = depth,
                                    .k = count,
                                    .batch = batch,
                                    .alpha = scale,
                                    .accumulate = true,
                                    .precision = precision});
    }
    if (keys.needs_grad()) {
      kernels(d).matmul(stream(d), {.a = per_head(dy, true),
                                    .b = per_head(query.value(), heads),
                                    .c = per_head(keys.grad(), heads),
                                    .m = count,
                                    .n = depth,
                                    .k = queries,
                                    .batch = batch,
                                    .alpha = scale,
                                    .accumulate = true,
                                    .precision = precision});
    }
  });
}

Var weighted_sum(const Var& weights, const Var& values) {
  Expect("weighted_sum", "weights", weights.value()).elements().rank(4);
  Expect("weighted_sum", "values", values.value()).like(weights.value()).rank(3);
  const int64_t heads = weights.dim(1), queries = weights.dim(2), count = weights.dim(3);
  expect_heads("weighted_sum", heads, values.dim(2));
  check(values.dim(0) == count && values.dim(1) == weights.dim(0),
        "weighted_sum: expected values [{},{},D] for the weights {}, got {}", count, weights.dim(0), weights.shape(),
        values.shape());
  const int64_t batch = weights.dim(0) * heads, depth = values.dim(2) / heads;
  const Device d = weights.device();
  const Precision precision = product_precision();
  const Tensor y = empty({queries, weights.dim(0), values.dim(2)}, values.dtype(), d);
  kernels(d).matmul(stream(d), {.a = per_head(weights.value()),
                                .b = per_head(values.value(), heads),
                                .c = per_head(y, heads),
                                .m = queries,
                                .n = depth,
                                .k = count,
                                .batch = batch,
                                .precision = precision});
  return Tape::add_node(y, {weights, values}, [=](const Tensor& dy) {
    if (weights.needs_grad()) {
      kernels(d).matmul(stream(d), {.a = per_head(dy, heads),
                                    .b = per_head(values.value(), heads, true),
                                    .c = per_head(weights.grad()),
                                    .m = queries,
                                    .n = count,
                                    .k = depth,
                                    .batch = batch,
                                    .accumulate = true,
                                    .precision = precision});
    }
    if (values.needs_grad()) {
      kernels(d).matmul(stream(d), {.a = per_head(weights.value(), true),
                                    .b = per_head(dy, heads),
                                    .c = per_head(values.grad(), heads),
                                    .m = count,
                                    .n = depth,
                                    .k = queries,
                                    .batch = batch,
                                    .accumulate = true,
                                    .precision = precision});
    }
  });
}

Var additive_score(const Var& query, const Var& keys, const Var& v, int64_t heads, const Tensor& lengths) {
  expect_sequences("additive_score", query.value(), keys.value());
  expect_heads("additive_score", heads, query.dim(2));
  check(keys.dim(2) == query.dim(2), "additive_score: expected keys of depth {}, got {}", query.dim(2), keys.shape());
  Expect("additive_score", "v", v.value()).parameter_of(query.value()).shape({query.dim(2)});
  expect_lengths("additive_score", lengths, query.dim(1), query.device());
  const Device d = query.device();
  const Tensor y = empty({query.dim(1), heads, query.dim(0), keys.dim(0)}, query.dtype(), d);
  kernels(d).additive_score(
      stream(d),
      {.query = query.value(), .keys = keys.value(), .v = v.value(), .score = y, .lengths = lengths, .heads = heads});
  return Tape::add_node(y, {query, keys, v}, [=](const Tensor& dy) {
    kernels(d).additive_score_grad(stream(d), {.query = query.value(),
                                               .keys = keys.value(),
                                               .v = v.value(),
                                               .lengths = lengths,
                                               .dscore = dy,
                                               .dquery = query.grad(),
                                               .dkeys = keys.grad(),
                                               .dv = v.grad(),
                                               .heads = heads});
  });
}

Attended dot_attention(const Var& query, const Var& keys, const Var& values, const DotAttention& options) {
  expect_sequences("dot_attention", query.value(), keys.value());
  const int64_t heads = options.heads, batch = query.dim(1);
  expect_heads("dot_attention", heads, query.dim(2));
  check(keys.dim(2) == query.dim(2), "dot_attention: expected keys of depth {}, got {}", query.dim(2), keys.shape());
  Expect("dot_attention", "the values", values.value()).like(query.value()).rank(3);
  check(values.dim(0) == keys.dim(0) && values.dim(1) == batch && values.dim(2) % heads == 0,
        "dot_attention: expected values [{},{},D] with D a multiple of {} heads, got {}", keys.dim(0), batch, heads,
        values.shape());
  const ScoreShape shape{batch, heads, query.dim(0), keys.dim(0)};
  expect_mask("dot_attention", options.mask, shape, query.value());
  check(options.dropout >= 0.0f && options.dropout < 1.0f, "dot_attention: expected a dropout in [0,1), got {}",
        options.dropout);

  const Device d = query.device();
  DotAttentionArgs args{.query = query.value(),
                        .keys = keys.value(),
                        .values = values.value(),
                        .out = empty(query.shape().with(2, values.dim(2)), query.dtype(), d),
                        .lse = empty({batch, heads, query.dim(0)}, accumulator_of(query.dtype()), d),
                        .heads = heads,
                        .scale = options.scale,
                        .mask = options.mask};
  const int64_t depth = query.dim(2) / heads;
  if (args.scale == 0.0f) args.scale = 1.0f / std::sqrt(static_cast<float>(depth));
  if (options.capture_weights) args.weights = empty({batch, heads, query.dim(0), keys.dim(0)}, query.dtype(), d);
  Tape* tape = Tape::current();
  if (options.dropout > 0.0f && tape != nullptr && tape->training()) {
    args.dropout = options.dropout;
    args.random = tape->next_random_stream();
  }
  kernels(d).dot_attention(stream(d), args);
  const Var out = Tape::add_node(args.out, {query, keys, values}, [=](const Tensor& dout) {
    const bool deferred = DeferredDotAttention::applies(args) && keys.needs_grad();
    DotAttentionGradArgs back{.query = query.value(),
                              .keys = keys.value(),
                              .values = values.value(),
                              .out = args.out,
                              .lse = args.lse,
                              .dout = dout,
                              .heads = args.heads,
                              .scale = args.scale,
                              .mask = args.mask,
                              .dropout = args.dropout,
                              .random = args.random};
    back.accumulate = !(deferred ? allocate_unset_gradients({query}) : allocate_unset_gradients({query, keys, values}));
    back.dquery = query.grad();
    if (!deferred) {
      back.dkeys = keys.grad();
      back.dvalues = values.grad();
    }
    if (back.dquery || !deferred) kernels(d).dot_attention_grad(stream(d), back);
    if (!deferred) return;
    Tape::current()->retain(dout);
    Tape::current()->defer_gradient<DeferredDotAttention>(keys, {keys, values, args.mask, args.heads, args.scale},
                                                          {query.value(), args.out, args.lse, dout});
  });
  return {out, args.weights};
}

Var gaussian_window(const Var& weights, const Var& center, float sigma, float width) {
  Expect("gaussian_window", "weights", weights.value()).elements().rank(4);
  const ScoreShape shape{weights.dim(0), weights.dim(1), weights.dim(2), weights.dim(3)};
  Expect("gaussian_window", "the center", center.value())
      .like(weights.value())
      .shape({shape.queries, shape.batch, shape.heads});
  check(sigma > 0.0f, "gaussian_window: expected a sigma above 0, got {}", sigma);
  const Device d = weights.device();
  const Tensor y = empty_like(weights.value());
  kernels(d).gaussian_window(
      stream(d),
      {.x = weights.value(), .center = center.value(), .y = y, .shape = shape, .sigma = sigma, .width = width});
  return Tape::add_node(y, {weights, center}, [=](const Tensor& dy) {
    kernels(d).gaussian_window_grad(stream(d), {.x = weights.value(),
                                                .center = center.value(),
                                                .dy = dy,
                                                .dx = weights.grad(),
                                                .dcenter = center.grad(),
                                                .shape = shape,
                                                .sigma = sigma,
                                                .width = width});
  });
}

}  // namespace fovea
