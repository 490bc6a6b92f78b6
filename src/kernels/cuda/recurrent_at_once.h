// What recurrent_at_once.cu and its gradient share: a block keeps some columns of the weight for all steps and
// multiplies them each step with the rows of a few sentences, which it reads from where the other blocks left them.
// The rows go from memory straight into the registers of the tensor cores: since a sum does not care which k is which,
// lane q of a row's four takes eight neighbours, 16 bytes, where the multipliers would have it take four pairs.
#pragma once

#include <limits>

#include "kernels/cuda/cooperative.h"
#include "kernels/cuda/mma.h"
#include "kernels/cuda/product.h"
#include "kernels/cuda/recurrent.h"
#include "kernels/cuda/scratch.h"

namespace fovea::cuda {

constexpr int kAtOnceThreads = 256, kAtOnceWarps = kAtOnceThreads / kWarp;
constexpr int kChunk = 4 * kVector;  // of k: what the four lanes of a row take at a time
constexpr int kMostLayers = 4;       // in one launch

struct alignas(16) Pairs {
  uint32_t pair[4];
};
struct alignas(8) Two {
  float x, y;
};

// Past the first cache, which does not know what other blocks write.
__device__ inline Pairs load_pairs(const bf16* from) {
#if defined(__CUDACC__)
  const uint4 x = __ldcg(reinterpret_cast<const uint4*>(from));
  return {{x.x, x.y, x.z, x.w}};
#else
  return *reinterpret_cast<const Pairs*>(from);
#endif
}
// Two neighbours.
__device__ inline uint32_t load_pair(const bf16* from) { return *reinterpret_cast<const uint32_t*>(from); }
__device__ inline void store_pair(bf16* to, uint32_t pair) { *reinterpret_cast<uint32_t*>(to) = pair; }
__device__ inline float half_of(uint32_t pair, int which) { return which == 0 ? low_of(pair) : high_of(pair); }

inline bool are_packed(std::initializer_list<const void*> all) {
  return std::all_of(all.begin(), all.end(), is_packed);
}

// ---- sizes -------------------------------------------------------------------------------------

struct AtOnceSizes {
  int64_t layers, batch, hidden;
  int64_t depth;    // k of the step's product
  int64_t width;    // its columns for each unit
  int64_t carried;  // floats kept for each unit and sentence
};

// A block has `units` of the hidden units and `tiles` times `rows` sentences.
struct AtOncePlan {
  int units = 0, rows = 0, tiles = 0, buffers = 0;
  Grid grid = {};

  explicit operator bool() const { return units > 0; }
};

inline AtOncePlan plan_with(const Card& card, const AtOnceSizes& z, int units, int rows) {
  const int64_t slices = ceil_div(z.hidden, units), all_tiles = ceil_div(z.batch, rows);
  const int64_t groups = std::min(card.processors / (slices * z.layers), all_tiles);
  if (groups == 0) return {};
  const int64_t tiles = ceil_div(all_tiles, groups), columns = z.width * units;
  const int64_t kept = ceil_div(z.depth, kChunk) * kChunk * columns * int64_t{sizeof(bf16)} +
                       tiles * std::max(rows * units, 2 * kAtOnceThreads) * z.carried * int64_t{sizeof(float)};
  for (int buffers = kAtOnceWarps; buffers > 0; buffers /= 2) {
    const int64_t shared = kept + buffers * rows * columns * int64_t{sizeof(float)};
    if (shared > card.shared) continue;
    return {.units = units,
            .rows = rows,
            .tiles = static_cast<int>(tiles),
            .buffers = buffers,
            .grid = {dim3(to_unsigned(slices), to_unsigned(ceil_div(all_tiles, tiles)), to_unsigned(z.layers)),
                     dim3(kAtOnceThreads), static_cast<int>(shared)}};
  }
  return {};
}

// Of the ways that fit the one that moves least in a step: between the processors and the cache they share, and inside
// a processor between its memory and its registers. Both in cycles.
inline double cycles_of(const AtOncePlan& plan, const AtOnceSizes& z) {
  constexpr double kSharedBytes = 128, kCacheBytes = 3000;  // a cycle
  const double rows = plan.rows, columns = static_cast<double>(z.width) * plan.units;
  const double read = rows * static_cast<double>(z.depth) * sizeof(bf16);
  const double weights = columns * static_cast<double>(z.depth) * sizeof(bf16);
  const double sums = 2 * kAtOnceWarps * rows * columns * sizeof(float);
  const dim3& blocks = plan.grid.blocks;
  const double count = static_cast<double>(blocks.x) * blocks.y * blocks.z;
  return plan.tiles * ((read + weights + sums) / kSharedBytes + count * read / kCacheBytes);
}
// None where the sizes do not suit.
inline AtOncePlan plan_of(const Stream& stream, int64_t steps, const AtOnceSizes& z) {
  const bool large = steps >= at_once_limits.fewest_steps && z.batch >= at_once_limits.fewest_sentences;
  if (!large || steps < 1 || z.batch < 1 || z.hidden < 1 || z.hidden % kVector != 0) return {};
  Card card = card_of(stream);
  if (at_once_limits.most_blocks > 0) card.processors = at_once_limits.most_blocks;
  if (at_once_limits.most_shared > 0) card.shared = at_once_limits.most_shared;
  AtOncePlan best;
  double least = std::numeric_limits<double>::infinity();
  for (const int units : {32, 16}) {
    for (const int rows : {32, 16}) {
      const bool wanted = (at_once_limits.units == 0 || at_once_limits.units == units) &&
                          (at_once_limits.rows == 0 || at_once_limits.rows == rows);
      const AtOncePlan plan = wanted ? plan_with(card, z, units, rows) : AtOncePlan();
      if (!plan || cycles_of(plan, z) >= least) continue;
      least = cycles_of(plan, z);
      best = plan;
    }
  }
  return best;
}

// Calls body with the plan's sizes as integral constants.
template <class Body> void with_plan(const AtOncePlan& plan, Body&& body) {
  const auto with_rows = [&](auto units) {
    if (plan.rows == 32) return body(units, std::integral_constant<int, 32>());
    body(units, std::integral_constant<int, 16>());
  };
  if (plan.units == 32) return with_rows(std::integral_constant<int, 32>());
  with_rows(std::integral_constant<int, 16>());
}

// Whether it fits; if so it is launched, with a meeting for each layer and group of sentences.
template <class X> bool launch_at_once(Stream& stream, void (*kernel)(X), const AtOncePlan& plan, X x) {
  if (blocks_at_once(stream, kernel, plan.grid) == 0) return false;
  Scratch scratch(stream);
  const int64_t counts = int64_t{plan.grid.blocks.y} * plan.grid.blocks.z * Meeting::kApart;
  x.meetings = scratch.take<unsigned>(counts);
  // In the stream, so that a graph that holds the kernel begins with it each time.
  zero(stream.device, reinterpret_cast<std::byte*>(x.meetings), static_cast<size_t>(counts) * sizeof(unsigned));
  launch_together(stream, kernel, plan.grid, x);
  ++at_once_limits.launches;
  return true;
}
__device__ inline Meeting own_meeting(unsigned* meetings) {
  return {meetings + (blockIdx.z * gridDim.y + blockIdx.y) * Meeting::kApart, gridDim.x};
}

// ---- units -------------------------------------------------------------------------------------

// Which units and sentences a block has, and which of them a thread: pairs of units, always the same, so that what it
// wrote it may read again.
template <int kUnits, int kRows> struct Share {
  static constexpr int kPairs = kUnits / 2, kCount = kRows * kPairs;
  static constexpr int kItems = (kCount + kAtOnceThreads - 1) / kAtOnceThreads;  // of a thread in a tile
  static_assert(kAtOnceThreads % kPairs == 0);

  int batch, hidden, tiles;

  __device__ int first_unit() const { return static_cast<int>(blockIdx.x) * kUnits; }
  __device__ int64_t first_sentence(int tile) const { return (int64_t{blockIdx.y} * tiles + tile) * kRows; }
  // How many of a tile's rows are sentences.
  __device__ int rows_of(int tile) const {
    const int64_t left = batch - first_sentence(tile);
    return left < kRows ? static_cast<int>(left) : kRows;
  }
  // Of the thread: its first unit in the block and in all, an item's row in the tile.
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kPairs * 2; }
  __device__ static int row(int item) { return (static_cast<int>(threadIdx.x) + item * kAtOnceThreads) / kPairs; }
  __device__ int unit() const { return first_unit() + column(); }
  __device__ int64_t sentence(int tile, int item) const { return first_sentence(tile) + row(item); }
  __device__ bool has(int tile, int item) const {
    return row(item) < kRows && unit() < hidden && sentence(tile, item) < batch;
  }
  // In [B,width*H], of the first of the width.
  __device__ int64_t at(int tile, int item, int width = 1) const {
    return sentence(tile, item) * width * hidden + unit();
  }
};

// ---- the product -------------------------------------------------------------------------------

// Where a lane finds its part of the weight: [chunk, piece of 8 columns, lane].
template <int kColumns> __device__ Pairs* weight_at(Pairs* weight, int chunk, int piece, int lane) {
  return weight + (chunk * (kColumns / 8) + piece) * kWarp + lane;
}

template <int kRows, int kColumns> class AtOnceProduct {
 public:
  static constexpr int kTall = kRows / kPiece, kWide = kColumns / 8;
  static constexpr int kPart = kRows * kColumns / 2;  // twos in the sums of a warp

  // This warp's share of the sums over k: rows [kRows,depth] by the weight. Past the last row the last one is read.
  __device__ void multiply(const bf16* rows, int there, int depth, Pairs* weight) {
    constexpr int kAhead = 4;
    const int lane = lane_of_thread(), warp = static_cast<int>(threadIdx.x) / kWarp;
    const int column = lane % 4 * kVector;
    const bf16* from[kTall][2];
#pragma unroll
    for (int i = 0; i < 2 * kTall; ++i) {
      const int row = std::min(i * 8 + lane / 4, there - 1);
      from[i / 2][i % 2] = rows + int64_t{row} * depth + column;
    }
    const int chunks = (depth + kChunk - 1) / kChunk;
    Pairs a[kAhead][kTall][2];
    const auto fetch = [&](Pairs(&to)[kTall][2], int chunk) {
      const bool inside = chunk * kChunk + column < depth;
#pragma unroll
      for (int i = 0; i < 2 * kTall; ++i) {
        to[i / 2][i % 2] = inside ? load_pairs(from[i / 2][i % 2] + chunk * kChunk) : Pairs{};
      }
    };
    clear();
#pragma unroll
    for (int s = 0; s < kAhead; ++s) {
      if (warp + s * kAtOnceWarps < chunks) fetch(a[s], warp + s * kAtOnceWarps);
    }
    for (int first = warp; first < chunks; first += kAhead * kAtOnceWarps) {
#pragma unroll
      for (int s = 0; s < kAhead; ++s) {
        const int chunk = first + s * kAtOnceWarps, next = chunk + kAhead * kAtOnceWarps;
        if (chunk < chunks) add(a[s], weight_at<kColumns>(weight, chunk, 0, lane));
        if (next < chunks) fetch(a[s], next);
      }
    }
  }

  // Puts the sums of all warps together, into `buffers` parts that sum() adds up.
  __device__ void gather(Two* parts, int buffers) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    __syncthreads();  // the last ones have been read
    for (int last = kAtOnceWarps - buffers; last > 0; last -= buffers) {  // those from here on hand theirs down
      if (warp >= last && warp < last + buffers) exchange<false>(parts + (warp - last) * kPart);
      __syncthreads();
      if (warp >= last - buffers && warp < last) exchange<true>(parts + (warp - last + buffers) * kPart);
      __syncthreads();
    }
    if (warp < buffers) exchange<false>(parts + warp * kPart);
    __syncthreads();
  }
  // At a row, a piece of columns and an even column in it.
  __device__ static Two sum(const Two* parts, int buffers, int row, int piece, int column) {
    const Two* part = parts + two_at(row / kPiece * kWide + piece, row / 8 % 2, row % 8 * 4 + column / 2);
    Two total = part[0];
    for (int i = 1; i < buffers; ++i) {
      total.x += part[i * kPart].x;
      total.y += part[i * kPart].y;
    }
    return total;
  }

 private:
  __device__ static int two_at(int piece, int half, int lane) { return (piece * 2 + half) * kWarp + lane; }

  __device__ void clear() {
#pragma unroll
    for (int i = 0; i < kTall * kWide * 4; ++i) sums_[i / 4 / kWide][i / 4 % kWide][i % 4] = 0.0f;
  }
  __device__ void add(const Pairs (&a)[kTall][2], const Pairs* weight) {
#pragma unroll
    for (int n = 0; n < kWide; ++n) {
      const Pairs b = weight[n * kWarp];
#pragma unroll
      for (int m = 0; m < kTall; ++m) {
        const Pairs &top = a[m][0], &low = a[m][1];
        multiply_add(sums_[m][n], {top.pair[0], low.pair[0], top.pair[1], low.pair[1]}, b.pair[0], b.pair[1]);
        multiply_add(sums_[m][n], {top.pair[2], low.pair[2], top.pair[3], low.pair[3]}, b.pair[2], b.pair[3]);
      }
    }
  }
  // Leaves this warp's sums in a part, or adds those that lie there.
  template <bool kTake> __device__ void exchange(Two* part) {
    const int lane = lane_of_thread();
#pragma unroll
    for (int i = 0; i < kTall * kWide; ++i) {
      float(&own)[4] = sums_[i / kWide][i % kWide];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Two& there = part[two_at(i, half, lane)];
        if constexpr (kTake) {
          own[2 * half] += there.x;
          own[2 * half + 1] += there.y;
        } else {
          there = {own[2 * half], own[2 * half + 1]};
        }
      }
    }
  }

  float sums_[kTall][kWide][4];
};

}  // namespace fovea::cuda
