// Scaled dot-product attention (Vaswani et al. 2017, equation 1).
#include <vector>

#include "kernels/reference/attention/masked_scores.h"
#include "kernels/reference/attention/score_views.h"
#include "kernels/reference/functions.h"
#include "kernels/reference/pointwise/dropout.h"
#include "kernels/unfused.h"

namespace fovea::reference {

namespace {

// The masked scores of dot-product attention, which forward and backward both compute.
template <class T, class Args> class DotScores {
 public:
  explicit DotScores(const Args& args)
      : shape_(score_shape(args.query, args.keys, args.heads)),
        query_(heads_of<T>(args.query, shape_, shape_.queries)),
        keys_(heads_of<T>(args.keys, shape_, shape_.keys)),
        masked_(args.mask),
        scale_(static_cast<T>(args.scale)) {}

  T operator()(int64_t b, int64_t h, int64_t t, int64_t s) const {
    T product = 0;
    for (int64_t i = 0; i < query_.sizes[3]; ++i) product += query_(t, b, h, i) * keys_(s, b, h, i);
    return masked_(scale_ * product, b, h, t, s);
  }

 private:
  ScoreShape shape_;
  View<T, 4> query_, keys_;
  Masked<T> masked_;
  T scale_;
};

}  // namespace

void dot_attention(Stream&, const DotAttentionArgs& args) {
  const ScoreShape shape = score_shape(args.query, args.keys, args.heads);
  const int64_t width = args.values.dim(-1) / args.heads;
  with_type_of(args.query, [&]<class T>(T) {
    const auto values = heads_of<T>(args.values, shape, shape.keys), out = heads_of<T>(args.out, shape, shape.queries);
    const auto lse = view<T>(args.lse, shape.batch, shape.heads, shape.queries);
    const auto weights = cells_of<T>(args.weights, shape);
    const DotScores<T, DotAttentionArgs> score(args);
    const DropoutFactor<T> factor(args.dropout, args.random);
    std::vector<T> scores(static_cast<size_t>(shape.keys));
    int64_t cell = 0;  // flat index of [B,H,T,S]
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      for (int64_t s = 0; s < shape.keys; ++s) scores[static_cast<size_t>(s)] = score(b, h, t, s);
      const RowSoftmax<T> row{std::span<const T>(scores)};
      lse(b, h, t) = row.log_sum_exp();
      for (int64_t i = 0; i < width; ++i) out(t, b, h, i) = 0;
      for (int64_t s = 0; s < shape.keys; ++s, ++cell) {
        const T weight = row.weight(scores[static_cast<size_t>(s)]);
        if (weights) weights(b, h, t, s) = weight;
        if (weight == 0) continue;  // the value of a masked key may be NaN
        for (int64_t i = 0; i < width; ++i) out(t, b, h, i) += weight * factor(cell) * values(s, b, h, i);
      }
    });
  });
}

// With weights w = exp(score - lse) and dropout factors f:
//   dvalues = w f dout,  dw = f (dout . values),  dscore = w (dw - sum over s of w dw),
// where the sum equals dout . out, because out = sum of w f values.
void dot_attention_grad(Stream&, const DotAttentionGradArgs& args) {
  zero_unless(args.accumulate, {args.dquery, args.dkeys, args.dvalues});
  const ScoreShape shape = score_shape(args.query, args.keys, args.heads);
  with_type_of(args.query, [&]<class T>(T) {
    const auto query = heads_of<T>(args.query, shape, shape.queries), keys = heads_of<T>(args.keys, shape, shape.keys);
    const auto values = heads_of<T>(args.values, shape, shape.keys);
    const auto out = heads_of<T>(args.out, shape, shape.queries), dout = heads_of<T>(args.dout, shape, shape.queries);
    const auto dquery = heads_of<T>(args.dquery, shape, shape.queries);
    const auto dkeys = heads_of<T>(args.dkeys, shape, shape.keys);
    const auto dvalues = heads_of<T>(args.dvalues, shape, shape.keys);
    const auto lse = view<T>(args.lse, shape.batch, shape.heads, shape.queries);
    const DotScores<T, DotAttentionGradArgs> score(args);
    const DropoutFactor<T> factor(args.dropout, args.random);
    const int64_t key_width = keys.sizes[3], value_width = values.sizes[3];
    int64_t cell = 0;  // flat index of [B,H,T,S]
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      T sum_wdw = 0;
      for (int64_t i = 0; i < value_width; ++i) sum_wdw += dout(t, b, h, i) * out(t, b, h, i);
      for (int64_t s = 0; s < shape.keys; ++s, ++cell) {
        const T masked = score(b, h, t, s);
        if (masked == -kInfinity<T>) continue;
        const T weight = std::exp(masked - lse(b, h, t)), f = factor(cell);
        T dweight = 0;
        for (int64_t i = 0; i < value_width; ++i) {
          if (dvalues) dvalues(s, b, h, i) += weight * f * dout(t, b, h, i);
          dweight += f * dout(t, b, h, i) * values(s, b, h, i);
        }
        const T dproduct = static_cast<T>(args.scale) * weight * (dweight - sum_wdw);
        for (int64_t i = 0; i < key_width; ++i) {
          if (dquery) dquery(t, b, h, i) += dproduct * keys(s, b, h, i);
          if (dkeys) dkeys(s, b, h, i) += dproduct * query(t, b, h, i);
        }
      }
    });
  });
}

}  // namespace fovea::reference
