// How the work of persistent_layer.cu and its gradient is cut into blocks, chosen by what a step has to move.
#pragma once

#include <vector>

#include "kernels/cuda/common/cooperative_launch.h"
#include "kernels/cuda/common/mma.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/recurrent/recurrent_layer.h"

namespace fovea::cuda {

constexpr int kAtOnceThreads = 256, kAtOnceWarps = kAtOnceThreads / kWarp;
constexpr int kChunk = 4 * kVector;  // of k: what the four lanes of a row take at a time
constexpr int kMostLayers = 4;       // in one launch

inline bool are_packed(std::initializer_list<const void*> all) {
  return std::all_of(all.begin(), all.end(), is_packed);
}

struct AtOnceSizes {
  int64_t layers, batch, hidden;
  int64_t depth;     // k of the step's product
  int64_t width;     // its columns for each unit
  int64_t carried;   // floats kept for each unit and sentence
  int clusters = 1;  // blocks that one may have
};

// A block has `units` of the hidden units and `tiles` times `rows` sentences. The blocks of a cluster share the sums of
// all their units: each has a part of k.
struct AtOncePlan {
  int units, rows, cluster;
  int tiles = 0, buffers = 0;
  Grid grid = {};
  double cycles = 0;  // of a step
};

// What moves in a step, in cycles: between the processors and the cache they share, and inside a processor between its
// memory and its registers.
inline double cycles_of(const AtOncePlan& plan, const AtOnceSizes& z) {
  constexpr double kSharedBytes = 128, kCacheBytes = 3000;  // a cycle
  constexpr double kClusterMeets = 500;
  const double rows = plan.rows, columns = static_cast<double>(z.width) * plan.units * plan.cluster;
  const double depth = static_cast<double>(z.depth) / plan.cluster;
  const double read = rows * depth * sizeof(bf16), weights = columns * depth * sizeof(bf16);
  const double sums = 2 * kAtOnceWarps * rows * columns * sizeof(float);
  const dim3& blocks = plan.grid.blocks;
  const double count = static_cast<double>(blocks.x) * blocks.y * blocks.z;
  return plan.tiles *
         ((read + weights + sums) / kSharedBytes + count * read / kCacheBytes + (plan.cluster > 1 ? kClusterMeets : 0));
}

// Fills in the rest; false where it does not fit.
inline bool complete(AtOncePlan& plan, const Card& card, const AtOnceSizes& z) {
  const int64_t slices = ceil_div(z.hidden, plan.units), all_tiles = ceil_div(z.batch, plan.rows);
  const int64_t groups = std::min(card.processors / (slices * z.layers), all_tiles);
  if (groups == 0 || slices % plan.cluster != 0) return false;
  const int64_t tiles = ceil_div(all_tiles, groups), columns = z.width * plan.units * plan.cluster;
  const int64_t chunks = ceil_div(ceil_div(z.depth, kChunk), plan.cluster);
  const int64_t weights = chunks * kChunk * columns * int64_t{sizeof(bf16)};
  const int64_t items = std::max(plan.rows * plan.units, 2 * kAtOnceThreads);
  const int64_t kept = weights + tiles * items * z.carried * int64_t{sizeof(float)};
  const int64_t sums = plan.rows * columns * int64_t{sizeof(float)};
  for (plan.buffers = kAtOnceWarps; kept + plan.buffers * sums > card.shared; plan.buffers /= 2) {
    if (plan.buffers == 1) return false;
  }
  plan.tiles = static_cast<int>(tiles);
  plan.grid = {dim3(to_unsigned(slices), to_unsigned(ceil_div(all_tiles, tiles)), to_unsigned(z.layers)),
               dim3(kAtOnceThreads), static_cast<int>(kept + plan.buffers * sums)};
  plan.cycles = cycles_of(plan, z);
  return true;
}

// The ways that fit and promise to be faster than step by step, fastest first; none where the sizes do not suit.
inline std::vector<AtOncePlan> plans_of(const Stream& stream, int64_t steps, const AtOnceSizes& z) {
  const AtOnceLimits& limits = at_once_limits;
  const bool large = steps >= limits.fewest_steps && z.batch >= limits.fewest_sentences;
  if (!large || steps < 1 || z.batch < 1 || z.hidden < 1 || z.hidden % kVector != 0) return {};
  Card card = card_of(stream);
  if (limits.most_blocks > 0) card.processors = limits.most_blocks;
  if (limits.most_shared > 0) card.shared = limits.most_shared;
  const auto wanted = [](int limit, int value) { return limit == 0 || limit == value; };
  std::vector<AtOncePlan> plans;
  for (const int units : {32, 16}) {
    for (const int rows : {32, 16}) {
      for (const int cluster : {1, 2, 4}) {
        if (cluster > z.clusters || (cluster > 1 && units != 32)) continue;
        if (!wanted(limits.units, units) || !wanted(limits.rows, rows) ||
            !wanted(std::min(limits.cluster, z.clusters), cluster))
          continue;
        AtOncePlan plan = {.units = units, .rows = rows, .cluster = cluster};
        if (complete(plan, card, z) && plan.cycles <= limits.most_cycles * static_cast<double>(z.layers)) {
          plans.push_back(plan);
        }
      }
    }
  }
  std::ranges::stable_sort(plans, {}, &AtOncePlan::cycles);
  return plans;
}

// Calls body with a plan's sizes as integral constants.
template <int kValue> using Number = std::integral_constant<int, kValue>;
template <class Body> void with_block(const AtOncePlan& plan, Body&& body) {
  const auto with_rows = [&](auto units) {
    if (plan.rows == 32) return body(units, Number<32>());
    body(units, Number<16>());
  };
  if (plan.units == 32) return with_rows(Number<32>());
  with_rows(Number<16>());
}

// Whether it fits; if so it is launched, with a meeting for each layer and tile of sentences.
template <class X> bool launch_at_once(Stream& stream, void (*kernel)(X), const AtOncePlan& plan, X x) {
  const Clusters clusters = {.size = plan.cluster};
  const dim3& blocks = plan.grid.blocks;
  const int64_t count = int64_t{blocks.x} * blocks.y * blocks.z;
  if (blocks_at_once(stream, kernel, plan.grid, clusters) < count) return false;
  Scratch scratch(stream);
  const int64_t counts = int64_t{blocks.y} * blocks.z * plan.tiles * Meeting::kApart;
  x.tiles = plan.tiles;
  x.buffers = plan.buffers;
  x.meetings = scratch.take<unsigned>(counts);
  // In the stream, so that a graph that holds the kernel begins with it each time.
  zero(stream.device, reinterpret_cast<std::byte*>(x.meetings), static_cast<size_t>(counts) * sizeof(unsigned));
  launch_together(stream, kernel, plan.grid, clusters, x);
  ++at_once_launches;
  return true;
}

}  // namespace fovea::cuda
