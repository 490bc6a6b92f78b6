// The position of an index in the index tensor of gather and scatter-add.
#pragma once

#include "base/random.h"  // FOVEA_HOST_DEVICE
#include "kernels/kernels.h"

namespace fovea {

// Returns the position of index(o,k,i) in the index tensor.
FOVEA_HOST_DEVICE inline int64_t index_position(const GatherShape& shape, int64_t o, int64_t k, int64_t i) {
  return (o % shape.index_outer * shape.picks + k) * shape.index_inner + i / (shape.inner / shape.index_inner);
}

}  // namespace fovea
