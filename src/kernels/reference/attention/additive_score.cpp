// Bahdanau's additive score (2015, appendix A.1.2), and additive attention.
#include <cmath>

#include "kernels/reference/attention/score_views.h"
#include "kernels/reference/functions.h"
#include "kernels/reference/reference.h"
#include "kernels/unfused.h"

namespace fovea::reference {

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

// With z = tanh(query + keys): dv = dscore z, and the argument of tanh gets dscore v (1 - z^2).
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

void additive_attention(Stream& stream, const AdditiveAttentionArgs& args) {
  additive_attention_unfused(reference_kernels(), stream, args);
}

void additive_attention_grad(Stream& stream, const AdditiveAttentionGradArgs& args) {
  additive_attention_grad_unfused(reference_kernels(), stream, args);
}

}  // namespace fovea::reference
