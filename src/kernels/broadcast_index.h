// Where a gather or a scatter-add finds its index.
#pragma once

#include "base/random.h"  // FOVEA_HOST_DEVICE
#include "kernels/kernels.h"

namespace fovea {

// The place of index(o,k,i) in the index tensor.
FOVEA_HOST_DEVICE inline int64_t index_place(const GatherShape& shape, int64_t o, int64_t k, int64_t i) {
  return (o % shape.index_outer * shape.picks + k) * shape.index_inner + i / (shape.inner / shape.index_inner);
}

}  // namespace fovea
