// Recurrent layers on the card, side by side where they fit: an encoder's two directions do not depend on each other.
#pragma once

#include <atomic>
#include <span>

#include "kernels/kernels.h"

namespace fovea::cuda {

// What the table's `recurrent` and `recurrent_grad` do, for several layers of which none reads what another writes.
void layers(Stream& stream, std::span<const RecurrentArgs> all);
void layers_grad(Stream& stream, std::span<const RecurrentGradArgs> all);

// By one kernel for all steps of all layers, which keeps the weights close to the multipliers. False, and nothing
// done, where it is not made for these (they differ in cell or sizes, are not bf16, are too many) or does not fit.
bool layers_at_once(Stream& stream, std::span<const RecurrentArgs> all);
bool layers_at_once_grad(Stream& stream, std::span<const RecurrentGradArgs> all);

// From which sizes on; tests set what suits them.
struct AtOnceLimits {
  int64_t fewest_sentences = 8, fewest_steps = 2;
  int64_t most_blocks = 0;               // 0: as many as the card has processors
  int64_t most_shared = 0;               // bytes of a block; 0: what the card allows
  int units = 0, rows = 0, cluster = 0;  // of a block; 0: what seems fastest
  double most_cycles = 12000;            // a step of a layer is thought to take; more than that cuBLASLt does not need
};
inline AtOnceLimits at_once_limits;
inline std::atomic<int64_t> at_once_launches = 0;  // so far

// The order of the steps and where their states lie in [T+1,B,H].
struct Steps {
  int64_t count;
  bool reverse;

  constexpr int64_t time(int64_t step) const { return reverse ? count - 1 - step : step; }
  constexpr int64_t before(int64_t t) const { return reverse ? t + 1 : t; }
  constexpr int64_t after(int64_t t) const { return reverse ? t : t + 1; }
  constexpr int64_t first() const { return reverse ? count : 0; }
};

}  // namespace fovea::cuda
