// Relative positions in attention scores: rotary embeddings (Su et al. 2021), and a learned vector for each distance
// (Shaw et al. 2018).
#include <algorithm>
#include <vector>

#include "ops/check.h"
#include "ops/ops.h"

namespace fovea {

Var rotary(const Var& x, int64_t heads, int64_t position, int64_t stride) {
  Expect("rotary", "x", x.value()).elements().rank(3);
  expect_heads("rotary", heads, x.dim(2));
  check(x.dim(2) / heads % 2 == 0, "rotary: expected heads of an even depth, got {}", x.dim(2) / heads);
  const Device d = x.device();
  RotaryArgs args{.x = x.value(), .y = empty_like(x.value()), .heads = heads, .position = position, .stride = stride};
  kernels(d).rotary(stream(d), args);
  return Tape::add_node(args.y, {x}, [=](const Tensor& dy) {
    RotaryArgs back = args;
    back.x = dy;
    back.y = x.grad();
    back.inverse = true;
    back.accumulate = true;
    kernels(d).rotary(stream(d), back);
  });
}

Var relative_score(const Var& query, const Var& distances, int64_t keys, int64_t heads, Positions positions) {
  Expect("relative_score", "the query", query.value()).elements().rank(3);
  expect_heads("relative_score", heads, query.dim(2));
  const int64_t queries = query.dim(0), rows = query.dim(1) * heads, depth = query.dim(2) / heads;
  Expect("relative_score", "the distances", distances.value()).parameter_of(query.value()).rank(2);
  check(distances.dim(0) % 2 == 1 && distances.dim(1) == depth, "relative_score: expected distances [2w+1,{}], got {}",
        depth, distances.shape());
  // The index of the vector for the distance between each query and key; the vectors are [T,S,d].
  const int64_t w = distances.dim(0) / 2;
  thread_local std::vector<int32_t> between;
  between.clear();
  for (int64_t t = 0; t < queries; ++t) {
    for (int64_t s = 0; s < keys; ++s) {
      const int64_t distance = s - (positions.first + t * positions.stride);
      between.push_back(static_cast<int32_t>(std::clamp(distance, -w, w) + w));
    }
  }
  const Tensor ids = from_host(between, {queries, keys}, query.device());
  const Var vectors = cast(embedding(distances, ids), query.dtype());

  // One product for each query position t: its rows (b,h) in [T,B*H,d] times the vectors of all keys. In the scores
  // [B,H,T,S], rows (b,h) are T*S elements apart and positions are S apart.
  const Device d = query.device();
  const Precision precision = product_precision();
  const Tensor y = empty({query.dim(1), heads, queries, keys}, query.dtype(), d);
  const auto of_rows = [=](const Tensor& x) {
    return Matrix{.tensor = x, .row_stride = depth, .batch_stride = rows * depth};
  };
  const auto of_vectors = [=](const Tensor& x, bool transposed) {
    return Matrix{.tensor = x, .row_stride = depth, .batch_stride = keys * depth, .transposed = transposed};
  };
  const auto of_scores = [=](const Tensor& x, bool transposed) {
    return Matrix{.tensor = x, .row_stride = queries * keys, .batch_stride = keys, .transposed = transposed};
  };
  kernels(d).matmul(stream(d), {.a = of_rows(query.value()),
                                .b = of_vectors(vectors.value(), true),
                                .c = of_scores(y, false),
                                .m = rows,
                                .n = keys,
                                .k = depth,
                                .batch = queries,
                                .precision = precision});
  return Tape::add_node(y, {query, vectors}, [=](const Tensor& dy) {
    if (query.needs_grad()) {
      kernels(d).matmul(stream(d), {.a = of_scores(dy, false),
                                    .b = of_vectors(vectors.value(), false),
                                    .c = of_rows(query.grad()),
                                    .m = rows,
                                    .n = depth,
                                    .k = keys,
                                    .batch = queries,
                                    .accumulate = true,
                                    .precision = precision});
    }
    if (vectors.needs_grad()) {
      kernels(d).matmul(stream(d), {.a = of_scores(dy, true),
                                    .b = of_rows(query.value()),
                                    .c = of_vectors(vectors.grad(), false),
                                    .m = keys,
                                    .n = depth,
                                    .k = rows,
                                    .batch = queries,
                                    .accumulate = true,
                                    .precision = precision});
    }
  });
}

}  // namespace fovea
