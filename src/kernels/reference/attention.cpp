// Attention: Bahdanau's additive score (2015, appendix A.1.2), scaled dot-product attention (Vaswani et
// al. 2017, equation 1) and Luong's Gaussian window (2015, equation 10).
#include <vector>

#include "kernels/by_parts.h"
#include "kernels/reference/dropout.h"
#include "kernels/reference/functions.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/scores.h"

namespace fovea::reference {

namespace {

// Calls body(b, h, t) for every row of scores.
template <class Body> void for_each_query(const ScoreShape& shape, Body body) {
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t h = 0; h < shape.heads; ++h)
      for (int64_t t = 0; t < shape.queries; ++t) body(b, h, t);
}

// query [T,B,D] and keys [S,B,D] give scores [B,H,T,S].
ScoreShape score_shape(const Tensor& query, const Tensor& keys, int64_t heads) {
  return {.batch = query.dim(1), .heads = heads, .queries = query.dim(0), .keys = keys.dim(0)};
}

// A sequence [N,B,D] with its heads apart: x(n, b, h, i).
template <class T> View<T, 4> heads_of(const Tensor& x, const ScoreShape& shape, int64_t steps) {
  const int64_t width = x ? x.dim(-1) / shape.heads : 0;
  return view<T>(x, steps, shape.batch, shape.heads, width);
}

// Scores, weights and their gradients: x(b, h, t, s).
template <class T> View<T, 4> cells_of(const Tensor& x, const ScoreShape& shape) {
  return view<T>(x, shape.batch, shape.heads, shape.queries, shape.keys);
}

// How many keys of sentence b there are.
int64_t length_of(const Tensor& lengths, int64_t b, int64_t keys) {
  return lengths ? std::min<int64_t>(lengths.data<int32_t>()[b], keys) : keys;
}

}  // namespace

void additive_score(Stream&, const AdditiveScoreArgs& args) {
  const ScoreShape shape = score_shape(args.query, args.keys, args.heads);
  const int64_t width = args.query.dim(-1) / args.heads;
  with_type_of(args.query, [&]<class T>(T) {
    const auto query = heads_of<T>(args.query, shape, shape.queries), keys = heads_of<T>(args.keys, shape, shape.keys);
    const auto v = view<T>(args.v, shape.heads, width);
    const auto score = cells_of<T>(args.score, shape);
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      const int64_t length = length_of(args.lengths, b, shape.keys);
      for (int64_t s = 0; s < shape.keys; ++s) {
        score(b, h, t, s) = 0;
        for (int64_t i = 0; s < length && i < width; ++i)
          score(b, h, t, s) += v(h, i) * std::tanh(query(t, b, h, i) + keys(s, b, h, i));
      }
    });
  });
}

// With z = tanh(query + keys): dv = dscore z, and the sum inside gets dscore v (1 - z^2).
void additive_score_grad(Stream&, const AdditiveScoreGradArgs& args) {
  const ScoreShape shape = score_shape(args.query, args.keys, args.heads);
  const int64_t width = args.query.dim(-1) / args.heads;
  with_type_of(args.query, [&]<class T>(T) {
    const auto query = heads_of<T>(args.query, shape, shape.queries), keys = heads_of<T>(args.keys, shape, shape.keys);
    const auto dquery = heads_of<T>(args.dquery, shape, shape.queries);
    const auto dkeys = heads_of<T>(args.dkeys, shape, shape.keys);
    const auto v = view<T>(args.v, shape.heads, width), dv = view<T>(args.dv, shape.heads, width);
    const auto dscore = cells_of<T>(args.dscore, shape);
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      for (int64_t s = 0; s < length_of(args.lengths, b, shape.keys); ++s)
        for (int64_t i = 0; i < width; ++i) {
          const T z = std::tanh(query(t, b, h, i) + keys(s, b, h, i));
          const T dsum = dscore(b, h, t, s) * v(h, i) * (1 - z * z);
          if (dv) dv(h, i) += dscore(b, h, t, s) * z;
          if (dquery) dquery(t, b, h, i) += dsum;
          if (dkeys) dkeys(s, b, h, i) += dsum;
        }
    });
  });
}

namespace {

// The masked scores of dot attention, which forward and backward both compute.
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
    int64_t cell = 0;  // of [B,H,T,S]
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      for (int64_t s = 0; s < shape.keys; ++s) scores[static_cast<size_t>(s)] = score(b, h, t, s);
      const RowSoftmax<T> row{std::span<const T>(scores)};
      lse(b, h, t) = row.log_sum_exp();
      for (int64_t i = 0; i < width; ++i) out(t, b, h, i) = 0;
      for (int64_t s = 0; s < shape.keys; ++s, ++cell) {
        const T weight = row.weight(scores[static_cast<size_t>(s)]);
        if (weights) weights(b, h, t, s) = weight;
        if (weight == 0) continue;  // what an absent value holds does not matter
        for (int64_t i = 0; i < width; ++i) out(t, b, h, i) += weight * factor(cell) * values(s, b, h, i);
      }
    });
  });
}

// With weights w = exp(score - lse) and dropout's factors f:
//   dvalues = w f dout,  dw = f (dout . values),  dscore = w (dw - sum over s of w dw),
// where that sum is dout . out, since out = sum of w f values.
void dot_attention_grad(Stream&, const DotAttentionGradArgs& args) {
  clear_unless(args.accumulate, {args.dquery, args.dkeys, args.dvalues});
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
    int64_t cell = 0;  // of [B,H,T,S]
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

namespace {

// exp(-(s - center)^2 / (2 sigma^2)), 0 outside the width.
template <class T, class Args> T window_at(const Args& args, T distance) {
  const T sigma = static_cast<T>(args.sigma), width = static_cast<T>(args.width);
  if (width > 0 && std::abs(distance) > width) return 0;
  return std::exp(-distance * distance / (2 * sigma * sigma));
}

}  // namespace

void gaussian_window(Stream&, const GaussianWindowArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = cells_of<T>(args.x, shape), y = cells_of<T>(args.y, shape);
    const auto center = view<T>(args.center, shape.queries, shape.batch, shape.heads);
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      for (int64_t s = 0; s < shape.keys; ++s)
        y(b, h, t, s) = x(b, h, t, s) * window_at(args, static_cast<T>(s) - center(t, b, h));
    });
  });
}

// dx = dy window, and dcenter = dy x window (s - center) / sigma^2.
void gaussian_window_grad(Stream&, const GaussianWindowGradArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.x, [&]<class T>(T) {
    const auto x = cells_of<T>(args.x, shape);
    const auto dy = cells_of<T>(args.dy, shape), dx = cells_of<T>(args.dx, shape);
    const auto center = view<T>(args.center, shape.queries, shape.batch, shape.heads);
    const auto dcenter = view<T>(args.dcenter, shape.queries, shape.batch, shape.heads);
    const T sigma = static_cast<T>(args.sigma);
    for_each_query(shape, [&](int64_t b, int64_t h, int64_t t) {
      for (int64_t s = 0; s < shape.keys; ++s) {
        const T distance = static_cast<T>(s) - center(t, b, h), window = window_at(args, distance);
        if (dx) dx(b, h, t, s) += dy(b, h, t, s) * window;
        if (dcenter) dcenter(t, b, h) += dy(b, h, t, s) * x(b, h, t, s) * window * distance / (sigma * sigma);
      }
    });
  });
}

void additive_attention(Stream& stream, const AdditiveAttentionArgs& args) {
  additive_attention_by_parts(reference_kernels(), stream, args);
}

void additive_attention_grad(Stream& stream, const AdditiveAttentionGradArgs& args) {
  additive_attention_grad_by_parts(reference_kernels(), stream, args);
}

}  // namespace fovea::reference
