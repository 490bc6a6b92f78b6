// The index that `sample` takes from a row of weights, for the host backends: sampled in proportion to the weights, or
// the argmax.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/random.h"
#include "kernels/kernels.h"

namespace fovea {

// Returns -1 if all weights are 0. W is float, double or bf16.
template <class W> int64_t sample_index(const W* weights, int64_t count, const RandomStream& random, int64_t row) {
  const auto weight = [&](int64_t i) {
    if constexpr (std::is_same_v<W, bf16>) {
      return static_cast<double>(static_cast<float>(weights[i]));
    } else {
      return static_cast<double>(weights[i]);
    }
  };
  double total = 0.0;
  int64_t largest = -1;
  for (int64_t i = 0; i < count; ++i) {
    total += weight(i);
    if (weight(i) > (largest < 0 ? 0.0 : weight(largest))) largest = i;
  }
  if (!random.step || largest < 0) return largest;
  const uint64_t stream = uint64_t{static_cast<uint32_t>(random.step.data<int32_t>()[0])} << 32 | random.op_index;
  const double threshold = random_word(random.seed, stream, static_cast<uint64_t>(row)) * 0x1p-32 * total;
  double cumulative = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    cumulative += weight(i);
    if (cumulative > threshold) return i;
  }
  return largest;  // rounding placed the threshold past the end
}

}  // namespace fovea
