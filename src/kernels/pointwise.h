// Elementwise functions and their derivatives, shared by all backends. V is a number (float, double) or a SIMD vector
// with the operators + - * / and the functions declared below, which argument-dependent lookup finds for a vector type.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "kernels/kernels.h"

namespace fovea::pointwise {

// Overloads for plain numbers. The vector type of a backend brings its own overloads.
template <class V> FOVEA_HOST_DEVICE V tanh(V x) { return std::tanh(x); }
template <class V> FOVEA_HOST_DEVICE V exp(V x) { return std::exp(x); }
template <class V> FOVEA_HOST_DEVICE V log(V x) { return std::log(x); }
template <class V> FOVEA_HOST_DEVICE V sqrt(V x) { return std::sqrt(x); }
template <class V> FOVEA_HOST_DEVICE V abs(V x) { return std::abs(x); }
template <class V> FOVEA_HOST_DEVICE V sigmoid(V x) { return V(1) / (V(1) + std::exp(-x)); }
template <class V> FOVEA_HOST_DEVICE V maximum(V a, V b) { return a < b ? b : a; }
template <class V> FOVEA_HOST_DEVICE V minimum(V a, V b) { return b < a ? b : a; }
// a > b ? yes : no, and a >= b ? yes : no
template <class V> FOVEA_HOST_DEVICE V if_greater(V a, V b, V yes, V no) { return a > b ? yes : no; }
template <class V> FOVEA_HOST_DEVICE V if_at_least(V a, V b, V yes, V no) { return a >= b ? yes : no; }

#include "kernels/pointwise_functions.h"

inline bool unary_reads_input(UnaryOp op) {
  return visit(op, [](auto f) { return decltype(f)::kReadsInput; });
}

}  // namespace fovea::pointwise
