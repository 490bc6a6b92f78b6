// Recurrent layers on the device, computed concurrently if they fit: the two directions of an encoder are independent.
#pragma once

#include <atomic>
#include <span>

#include "kernels/kernels.h"

namespace fovea::cuda {

// The kernels `recurrent` and `recurrent_grad` for several independent layers.
void layers(Stream& stream, std::span<const RecurrentArgs> all);
void layers_grad(Stream& stream, std::span<const RecurrentGradArgs> all);

// Computes all steps of all layers in one persistent kernel, which keeps the weights in shared memory. Returns false,
// without effect, if the layers are not supported (they differ in cell or sizes, are not bf16, are too many) or do not
// fit.
bool persistent_layers(Stream& stream, std::span<const RecurrentArgs> all);
bool persistent_layers_grad(Stream& stream, std::span<const RecurrentGradArgs> all);

// Limits for the use of the persistent kernel; tests change them.
struct PersistentLimits {
  int64_t min_sentences = 8, min_steps = 2;
  int64_t max_blocks = 0;                // 0 for the number of multiprocessors
  int64_t max_shared = 0;                // bytes of shared memory per block; 0 for the maximum of the device
  int units = 0, rows = 0, cluster = 0;  // per block; 0 for the fastest according to the cost model
  double max_cycles = 12000;             // per step and layer; beyond this estimate cuBLASLt is faster
};
inline PersistentLimits persistent_limits;
inline std::atomic<int64_t> persistent_launches = 0;  // number of launches, for tests

// The order of the steps and the indices of their states in [T+1,B,H].
struct Steps {
  int64_t count;
  bool reverse;

  constexpr int64_t time(int64_t step) const { return reverse ? count - 1 - step : step; }
  constexpr int64_t before(int64_t t) const { return reverse ? t + 1 : t; }
  constexpr int64_t after(int64_t t) const { return reverse ? t : t + 1; }
  constexpr int64_t first() const { return reverse ? count : 0; }
};

}  // namespace fovea::cuda
