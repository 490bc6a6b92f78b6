// Views of queries, keys, values and scores that are indexed by sentence, head, query and key.
#pragma once

#include <algorithm>

#include "kernels/reference/common/elements.h"

namespace fovea::reference {

// Calls body(b, h, t) for each row of scores.
template <class Body> void for_each_query(const ScoreShape& shape, Body body) {
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t h = 0; h < shape.heads; ++h)
      for (int64_t t = 0; t < shape.queries; ++t) body(b, h, t);
}

// Returns the shape of the scores [B,H,T,S] of query [T,B,D] and keys [S,B,D].
inline ScoreShape score_shape(const Tensor& query, const Tensor& keys, int64_t heads) {
  return {.batch = query.dim(1), .heads = heads, .queries = query.dim(0), .keys = keys.dim(0)};
}

// Returns a view of a sequence [N,B,D] with separate heads: x(n, b, h, i).
template <class T> View<T, 4> heads_of(const Tensor& x, const ScoreShape& shape, int64_t steps) {
  const int64_t width = x ? x.dim(-1) / shape.heads : 0;
  return view<T>(x, steps, shape.batch, shape.heads, width);
}

// Returns a view of scores, weights or their gradients: x(b, h, t, s).
template <class T> View<T, 4> cells_of(const Tensor& x, const ScoreShape& shape) {
  return view<T>(x, shape.batch, shape.heads, shape.queries, shape.keys);
}

// Returns the number of keys of sentence b.
inline int64_t length_of(const Tensor& lengths, int64_t b, int64_t keys) {
  return lengths ? std::min<int64_t>(lengths.data<int32_t>()[b], keys) : keys;
}

}  // namespace fovea::reference
