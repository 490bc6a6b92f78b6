// Which of a row of weights is chosen, for every backend on the host: by lot in proportion to the weights, or
// the largest.
#pragma once

#include <cstdint>
#include <type_traits>

#include "base/random.h"
#include "kernels/kernels.h"

namespace fovea {

// -1 when all weights are 0. W is any number that converts to f64.
template <class W> int64_t chosen_index(const W* weights, int64_t count, const RandomSite& random, int64_t row) {
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
  const uint64_t stream = uint64_t{static_cast<uint32_t>(random.step.data<int32_t>()[0])} << 32 | random.site;
  const double lot = random_word(random.seed, stream, static_cast<uint64_t>(row)) * 0x1p-32 * total;
  double below = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    below += weight(i);
    if (below > lot) return i;
  }
  return largest;  // rounding left the lot past the end
}

}  // namespace fovea
