// The gradient of dot-product attention. The weights w are recomputed for a strip of queries at a time; with the
// dropout factors f, dw = f (dout v^T):
//   dv = (w f)^T dout,   ds = w (dw - sum over s of w dw),   dq = scale ds k,   dk = scale ds^T q
// The softmax is recomputed from the scores, because a log-sum-exp in f32 is too inexact for a row of large scores.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/dot_attention_grad.cpp"
#include "kernels/cpu/attention/dot_attention.h"
#include "kernels/cpu/functions.h"
#include "kernels/unfused.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

using namespace dot;

// to += scale * from.
template <class T> void add_rows(const Panel& from, float scale, const Rows<T>& to) {
  for (int64_t i = 0; i < to.count; ++i) {
    prefetch_after(to, i);
    each_register(to.width, [&](int64_t j, auto lanes) {
      T* p = to.at(i) + j;
      store(mul_add(Floats(scale), load(from.at(i) + j), load(p, lanes)), p, lanes);
    });
  }
}

// Converts the scores and dout v^T of a row to w f and ds, in place.
struct GradRow {
  float *weights, *dscores;
  int64_t columns;
};
void grad_row(const GradRow& row, const RowMask& mask, const float* factors) {
  softmax_row(row.weights, row.columns, mask);
  const Floats along(row_sum(0, row.columns, [&](int64_t s, auto lanes) {
    const Floats dw = factors ? load(row.dscores + s) * load(factors + s, lanes) : load(row.dscores + s);
    store(dw, row.dscores + s);
    return load(row.weights + s) * dw;
  }));
  each_register(row.columns, [&](int64_t s, auto lanes) {
    const Floats weight = load(row.weights + s);
    store(weight * (load(row.dscores + s) - along), row.dscores + s);
    if (factors) store(weight * load(factors + s, lanes), row.weights + s);
  });
}

// to[s] += weights[s] * row.
template <class T> void add_outer(const float* weights, const float* row, const Rows<T>& to) {
  for (int64_t s = 0; s < to.count; ++s) {
    prefetch_after(to, s);
    each_register(to.width, [&](int64_t i, auto lanes) {
      T* p = to.at(s) + i;
      store(mul_add(Floats(weights[s]), load(row + i), load(p, lanes)), p, lanes);
    });
  }
}

// One sentence and head (pair = b * heads + h) with few queries, computed from the keys and values as stored.
template <class T> void grad_few(const DotAttentionGradArgs& args, const DropoutFactors& drawn, int64_t pair) {
  const ScoreShape shape = shape_of(args);
  const auto head = [&](const Tensor& x) { return head_of<T>(x, args.heads, pair); };
  const Rows<T> query = head(args.query), dout = head(args.dout);
  const Panel q = panel<struct FewQuery>(1, query.width), dq = panel<struct FewDQuery>(1, query.width);
  const Panel d = panel<struct FewDOut>(1, dout.width), weights = panel<struct FewWeights>(1, shape.keys + 3);
  const Panel dscores = panel<struct FewDScores>(1, shape.keys + 3);
  for (int64_t t = 0; t < shape.queries; ++t) {
    const int64_t row = pair * shape.queries + t;
    const RowMask mask = mask_of_row(args.mask, shape, row);
    const Rows<T> keys = head(args.keys).rows(0, mask.visible), values = head(args.values).rows(0, mask.visible);
    pack(query.rows(t, t + 1), args.scale, q);
    pack(dout.rows(t, t + 1), 1.0f, d);
    dot_rows(q.data, keys, weights.data);
    dot_rows(d.data, values, dscores.data);
    const float* factors = args.dropout > 0 ? dropout_row(drawn, row * shape.keys, mask.visible) : nullptr;
    grad_row({weights.data, dscores.data, mask.visible}, mask, factors);
    if (args.dvalues) add_outer(weights.data, d.data, head(args.dvalues).rows(0, mask.visible));
    if (args.dkeys) add_outer(dscores.data, q.data, head(args.dkeys).rows(0, mask.visible));
    if (!args.dquery) continue;
    mix_rows(dscores.data, keys, dq.data);
    add_rows(dq, args.scale, head(args.dquery).rows(t, t + 1));
  }
}

// One sentence and head with many queries, in strips.
template <class T> void grad_head(const DotAttentionGradArgs& args, const DropoutFactors& drawn, int64_t pair) {
  const ScoreShape shape = shape_of(args);
  const auto mask_of = [&](int64_t row) { return mask_of_row(args.mask, shape, row); };
  const int64_t seen = mask_of((pair + 1) * shape.queries - 1).visible;  // no query sees more keys than the last one
  const auto head = [&](const Tensor& x) { return head_of<T>(x, args.heads, pair); };
  const Rows<T> keys = head(args.keys).rows(0, seen), values = head(args.values).rows(0, seen);
  const Panel k = panel<struct GradKeys>(seen, keys.width), turned_k = panel<struct TurnedKeys>(keys.width, seen);
  const Panel v = panel<struct GradValues>(seen, values.width),
              turned_v = panel<struct TurnedValues>(values.width, seen);
  pack(keys, 1.0f, k);
  pack(values, 1.0f, v);
  transpose(k, seen, keys.width, turned_k);
  transpose(v, seen, values.width, turned_v);
  const Panel dk = panel<struct GradDKeys>(seen, keys.width), dv = v;  // v is not read again
  std::fill_n(dk.data, seen * dk.stride, 0.0f);
  std::fill_n(dv.data, seen * dv.stride, 0.0f);

  const Panel q = panel<struct StripQuery>(kStrip, keys.width), dout = panel<struct StripDOut>(kStrip, values.width);
  const Panel weights = panel<struct StripWeights>(kStrip, seen), dscores = panel<struct StripDScores>(kStrip, seen);
  const Panel dq = panel<struct StripDQuery>(kStrip, keys.width);
  for (int64_t first = 0; first < shape.queries; first += kStrip) {
    const int64_t count = std::min(kStrip, shape.queries - first), row = pair * shape.queries + first;
    const int64_t columns = mask_of(row + count - 1).visible;
    pack(head(args.query).rows(first, first + count), args.scale, q);
    pack(head(args.dout).rows(first, first + count), 1.0f, dout);
    multiply({.a = rows_of(q), .b = turned_k, .c = weights, .m = count, .n = columns, .k = keys.width});
    multiply({.a = rows_of(dout), .b = turned_v, .c = dscores, .m = count, .n = columns, .k = values.width});
    for (int64_t t = 0; t < count; ++t) {
      const float* factors = args.dropout > 0 ? dropout_row(drawn, (row + t) * shape.keys, columns) : nullptr;
      grad_row({weights.at(t), dscores.at(t), columns}, mask_of(row + t), factors);
    }
    multiply({.a = columns_of(weights),
              .b = dout,
              .c = dv,
              .m = columns,
              .n = values.width,
              .k = count,
              .accumulate = true});
    multiply(
        {.a = columns_of(dscores), .b = q, .c = dk, .m = columns, .n = keys.width, .k = count, .accumulate = true});
    if (!args.dquery) continue;
    multiply({.a = rows_of(dscores), .b = k, .c = dq, .m = count, .n = keys.width, .k = columns});
    add_rows(dq, args.scale, head(args.dquery).rows(first, first + count));
  }
  if (args.dkeys) add_rows(dk, 1.0f, head(args.dkeys).rows(0, seen));
  if (args.dvalues) add_rows(dv, 1.0f, head(args.dvalues).rows(0, seen));
}

void dot_attention_grad(const DotAttentionGradArgs& args) {
  zero_unless(args.accumulate, {args.dquery, args.dkeys, args.dvalues});
  const ScoreShape shape = shape_of(args);
  if (shape.queries == 0) return;
  const int64_t terms = shape.queries * shape.keys * (args.query.dim(2) + args.values.dim(2)) / shape.heads;
  const DropoutFactors drawn(args.dropout, args.random);
  with_type_of(args.query, [&]<class T>(T) {
    parallel_for(shape.batch * shape.heads, kItemTerms / (terms + 1) + 1, [&](int64_t begin, int64_t end) {
      for (int64_t pair = begin; pair < end; ++pair) {
        shape.queries < kFew ? grad_few<T>(args, drawn, pair) : grad_head<T>(args, drawn, pair);
      }
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(dot_attention_grad, DotAttentionGradArgs)
}  // namespace fovea::cpu
#endif
