// What dropout leaves of eight elements at a time.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

struct Dropping {
  uint32_t threshold;  // 0: nothing is drawn, all are kept
  float kept;
  RandomSource random;

  Dropping(float rate, const RandomSite& site)
      : threshold(site.step ? drop_threshold(rate) : 0), kept(1.0f / (1.0f - rate)), random(site) {}

  __device__ bool keeps(uint32_t word) const { return word >= threshold; }
  // What the elements from `place` on, which is a multiple of eight, are multiplied by.
  __device__ void find(float (&factors)[kPack], int64_t place) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      RandomBits bits = {};
      if (threshold > 0) bits = philox(random.seed, random.stream(), static_cast<uint64_t>(place / 4 + half));
#pragma unroll
      for (int k = 0; k < 4; ++k) factors[4 * half + k] = keeps(bits.word[k]) ? kept : 0.0f;
    }
  }
};

// An element times its factor: nothing is left of what is dropped, whatever it was.
__device__ inline float kept_of(float x, float factor) { return factor == 0.0f ? 0.0f : x * factor; }

}  // namespace fovea::cuda
