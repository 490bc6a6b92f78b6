// What persistent_layer.cu and its gradient share: a block keeps some columns of the weight for all steps and
// multiplies them each step with the rows of a few sentences, which it reads from where the other blocks left them.
// The rows go from memory straight into the registers of the tensor cores: since a sum does not care which k is which,
// lane q of a row's four takes eight neighbours, 16 bytes, where the multipliers would have it take four pairs.
#pragma once

#include "kernels/cuda/recurrent/persistent_layer_plan.h"

namespace fovea::cuda {

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

// Where the blocks meet that have the same sentences: those of one tile, so that while the others' part of it is on its
// way a block may go on with the next.
__device__ inline Meeting own_meeting(unsigned* meetings, int tiles, int tile) {
  const auto index = (blockIdx.z * gridDim.y + blockIdx.y) * static_cast<unsigned>(tiles) + static_cast<unsigned>(tile);
  return {meetings + index * Meeting::kApart, gridDim.x};
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

// How many chunks a block has of those of the whole depth.
template <int kApart> __device__ int own_chunks(int depth, int rank) {
  return ((depth + kChunk - 1) / kChunk - rank + kApart - 1) / kApart;
}

template <int kRows, int kColumns> class AtOnceProduct {
 public:
  static constexpr int kTall = kRows / kPiece, kWide = kColumns / 8;
  static constexpr int kPart = kRows * kColumns / 2;  // twos in the sums of a warp

  // This warp's share of the sums over k, of which the block has every kApart-th chunk, from `rank` on: rows
  // [kRows,depth] by the weight. Past the last row the last one is read.
  template <int kApart = 1>
  __device__ void multiply(const bf16* rows, int there, int depth, Pairs* weight, int rank = 0) {
    constexpr int kAhead = kTall * kWide > 24 ? 2 : 4;  // as many as there are registers for
    const int lane = lane_of_thread(), warp = static_cast<int>(threadIdx.x) / kWarp;
    const int column = rank * kChunk + lane % 4 * kVector;
    const bf16* from[kTall][2];
#pragma unroll
    for (int i = 0; i < 2 * kTall; ++i) {
      const int row = std::min(i * 8 + lane / 4, there - 1);
      from[i / 2][i % 2] = rows + int64_t{row} * depth + column;
    }
    const int chunks = own_chunks<kApart>(depth, rank);
    Pairs a[kAhead][kTall][2];
    const auto fetch = [&](Pairs(&to)[kTall][2], int chunk) {
      const int at = chunk * kApart * kChunk;
      const bool inside = at + column < depth;
#pragma unroll
      for (int i = 0; i < 2 * kTall; ++i) {
        to[i / 2][i % 2] = inside ? load_pairs(from[i / 2][i % 2] + at) : Pairs{};
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
    __syncthreads();                                                      // the last ones have been read
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
