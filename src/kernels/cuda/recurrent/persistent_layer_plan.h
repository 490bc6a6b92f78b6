// The partition of a persistent layer into blocks, selected by a cost model of the data that a step moves.
#pragma once

#include <vector>

#include "kernels/cuda/common/cooperative_launch.h"
#include "kernels/cuda/common/mma.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/recurrent/recurrent_layer.h"

namespace fovea::cuda {

constexpr int kPersistentThreads = 256, kPersistentWarps = kPersistentThreads / kWarp;
constexpr int kChunk = 4 * kVector;  // elements of k that the four lanes of a row load together
constexpr int kMaxLayers = 4;        // per launch

inline bool are_packed(std::initializer_list<const void*> all) {
  return std::all_of(all.begin(), all.end(), is_packed);
}

struct PersistentSizes {
  int64_t layers, batch, hidden;
  int64_t depth;     // k of the GEMM in each step
  int64_t width;     // its columns per unit
  int64_t carried;   // floats in shared memory per unit and sentence
  int clusters = 1;  // largest size of a cluster
};

// Each block has `units` hidden units and `tiles` * `rows` sentences. The blocks of a cluster compute the sums of all
// their units together: each has a part of k.
struct PersistentPlan {
  int units, rows, cluster;
  int tiles = 0, buffers = 0;
  Grid grid = {};
  double cycles = 0;  // estimated for a step
};

// Estimates the cycles of a step from the data moved between the multiprocessors and the L2 cache, and between shared
// memory and registers.
inline double cycles_of(const PersistentPlan& plan, const PersistentSizes& z) {
  constexpr double kSharedBytes = 128, kCacheBytes = 3000;  // per cycle
  constexpr double kClusterSync = 500;
  const double rows = plan.rows, columns = static_cast<double>(z.width) * plan.units * plan.cluster;
  const double depth = static_cast<double>(z.depth) / plan.cluster;
  const double read = rows * depth * sizeof(bf16), weights = columns * depth * sizeof(bf16);
  const double sums = 2 * kPersistentWarps * rows * columns * sizeof(float);
  const dim3& blocks = plan.grid.blocks;
  const double count = static_cast<double>(blocks.x) * blocks.y * blocks.z;
  return plan.tiles *
         ((read + weights + sums) / kSharedBytes + count * read / kCacheBytes + (plan.cluster > 1 ? kClusterSync : 0));
}

// Completes a plan from its units, rows and cluster size. Returns false if it does not fit.
inline bool complete(PersistentPlan& plan, const Card& card, const PersistentSizes& z) {
  const int64_t slices = ceil_div(z.hidden, plan.units), all_tiles = ceil_div(z.batch, plan.rows);
  const int64_t groups = std::min(card.processors / (slices * z.layers), all_tiles);
  if (groups == 0 || slices % plan.cluster != 0) return false;
  const int64_t tiles = ceil_div(all_tiles, groups), columns = z.width * plan.units * plan.cluster;
  const int64_t chunks = ceil_div(ceil_div(z.depth, kChunk), plan.cluster);
  const int64_t weights = chunks * kChunk * columns * int64_t{sizeof(bf16)};
  const int64_t items = std::max(plan.rows * plan.units, 2 * kPersistentThreads);
  const int64_t kept = weights + tiles * items * z.carried * int64_t{sizeof(float)};
  const int64_t sums = plan.rows * columns * int64_t{sizeof(float)};
  for (plan.buffers = kPersistentWarps; kept + plan.buffers * sums > card.shared; plan.buffers /= 2) {
    if (plan.buffers == 1) return false;
  }
  plan.tiles = static_cast<int>(tiles);
  plan.grid = {dim3(to_unsigned(slices), to_unsigned(ceil_div(all_tiles, tiles)), to_unsigned(z.layers)),
               dim3(kPersistentThreads), static_cast<int>(kept + plan.buffers * sums)};
  plan.cycles = cycles_of(plan, z);
  return true;
}

// Returns the plans that fit and are expected to be faster than a GEMM per step, fastest first; none if the sizes are
// not supported.
inline std::vector<PersistentPlan> plans_of(const Stream& stream, int64_t steps, const PersistentSizes& z) {
  const PersistentLimits& limits = persistent_limits;
  const bool large = steps >= limits.min_steps && z.batch >= limits.min_sentences;
  if (!large || steps < 1 || z.batch < 1 || z.hidden < 1 || z.hidden % kVector != 0) return {};
  Card card = card_of(stream);
  if (limits.max_blocks > 0) card.processors = limits.max_blocks;
  if (limits.max_shared > 0) card.shared = limits.max_shared;
  const auto wanted = [](int limit, int value) { return limit == 0 || limit == value; };
  std::vector<PersistentPlan> plans;
  for (const int units : {32, 16}) {
    for (const int rows : {32, 16}) {
      for (const int cluster : {1, 2, 4}) {
        if (cluster > z.clusters || (cluster > 1 && units != 32)) continue;
        if (!wanted(limits.units, units) || !wanted(limits.rows, rows) ||
            !wanted(std::min(limits.cluster, z.clusters), cluster))
          continue;
        PersistentPlan plan = {.units = units, .rows = rows, .cluster = cluster};
        if (complete(plan, card, z) && plan.cycles <= limits.max_cycles * static_cast<double>(z.layers)) {
          plans.push_back(plan);
        }
      }
    }
  }
  std::ranges::stable_sort(plans, {}, &PersistentPlan::cycles);
  return plans;
}

// Calls body with the sizes of a plan as integral constants.
template <int kValue> using Number = std::integral_constant<int, kValue>;
template <class Body> void with_block(const PersistentPlan& plan, Body&& body) {
  const auto with_rows = [&](auto units) {
    if (plan.rows == 32) return body(units, Number<32>());
    body(units, Number<16>());
  };
  if (plan.units == 32) return with_rows(Number<32>());
  with_rows(Number<16>());
}

// Launches the kernel, with a barrier for each layer and tile of sentences, if it fits. Returns whether it did.
template <class X> bool launch_persistent(Stream& stream, void (*kernel)(X), const PersistentPlan& plan, X x) {
  const Clusters clusters = {.size = plan.cluster};
  const dim3& blocks = plan.grid.blocks;
  const int64_t count = int64_t{blocks.x} * blocks.y * blocks.z;
  if (max_resident_blocks(stream, kernel, plan.grid, clusters) < count) return false;
  Workspace workspace(stream);
  const int64_t counts = int64_t{blocks.y} * blocks.z * plan.tiles * BlockBarrier::kStride;
  x.tiles = plan.tiles;
  x.buffers = plan.buffers;
  x.barriers = workspace.allocate<unsigned>(counts);
  // The barriers are zeroed on the stream, so that each launch of a captured graph starts with zero.
  zero(stream.device, reinterpret_cast<std::byte*>(x.barriers), static_cast<size_t>(counts) * sizeof(unsigned));
  launch_cooperative(stream, kernel, plan.grid, clusters, x);
  ++persistent_launches;
  return true;
}

}  // namespace fovea::cuda
