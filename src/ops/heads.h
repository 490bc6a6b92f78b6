// The check of queries and keys that all ops of attention share.
#pragma once

#include "kernels/head_matrices.h"
#include "ops/check.h"

namespace fovea {

inline void expect_sequences(std::string_view op, const Tensor& query, const Tensor& keys) {
  Expect(op, "the query", query).elements().rank(3);
  Expect(op, "the keys", keys).like(query).rank(3);
  check(keys.dim(1) == query.dim(1), "{}: expected keys for {} sentences like the query {}, got {}", op, query.dim(1),
        query.shape(), keys.shape());
}

}  // namespace fovea
