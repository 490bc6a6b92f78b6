// The parts of the list of cases() that have their own files, and the helpers that all of them use.
#pragma once

#include "kernels/cases.h"

namespace fovea::testing {

inline Tensor ints(const Setting& s, const std::vector<int32_t>& x, const Shape& shape) {
  return from_host(x, shape, s.device);
}
inline Tensor ints(const Setting& s, const std::vector<int32_t>& x) {
  return ints(s, x, {static_cast<int64_t>(x.size())});
}

inline Input parameter(const Shape& shape, double bound = 1.0) { return {shape, -bound, bound, true}; }

void add_softmax(std::vector<Case>& list);
void add_pointer_loss(std::vector<Case>& list);
void add_attention(std::vector<Case>& list);
void add_indexing(std::vector<Case>& list);
void add_image_layers(std::vector<Case>& list);

}  // namespace fovea::testing
