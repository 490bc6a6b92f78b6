// The dropout mask for packs of eight elements.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

struct DropoutMask {
  uint32_t threshold;  // 0 disables dropout
  float scale;         // of the elements that are kept
  RandomSource random;

  DropoutMask(float rate, const RandomStream& stream)
      : threshold(stream.step ? drop_threshold(rate) : 0), scale(1.0f / (1.0f - rate)), random(stream) {}

  __device__ bool keeps(uint32_t word) const { return word >= threshold; }
  // Computes the factors of the elements from index `first` on, which is a multiple of eight.
  __device__ void get_factors(float (&factors)[kPack], int64_t first) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      RandomBits bits = {};
      if (threshold > 0) bits = philox(random.seed, random.stream(), static_cast<uint64_t>(first / 4 + half));
#pragma unroll
      for (int k = 0; k < 4; ++k) factors[4 * half + k] = keeps(bits.word[k]) ? scale : 0.0f;
    }
  }
};

// Multiplies an element by its factor. A dropped element becomes 0 even if it is infinite or NaN.
__device__ inline float apply_dropout(float x, float factor) { return factor == 0.0f ? 0.0f : x * factor; }

}  // namespace fovea::cuda
