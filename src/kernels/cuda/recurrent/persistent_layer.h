// The common parts of the persistent forward and backward kernels. A block keeps some columns of the weight in shared
// memory for all steps and multiplies them in each step by the rows of a few sentences, which other blocks have
// written. The rows are loaded from global memory directly into tensor-core fragments: the order of k within a sum is
// arbitrary, so that each of the four lanes of a row can load eight adjacent elements, 16 bytes, instead of four
// separate pairs.
#pragma once

#include "kernels/cuda/recurrent/persistent_layer_plan.h"

namespace fovea::cuda {

struct alignas(16) Pairs {
  uint32_t pair[4];
};
struct alignas(8) Two {
  float x, y;
};

// Bypasses the L1 cache, which is not coherent with the writes of other blocks.
__device__ inline Pairs load_pairs(const bf16* from) {
#if defined(__CUDACC__)
  const uint4 x = __ldcg(reinterpret_cast<const uint4*>(from));
  return {{x.x, x.y, x.z, x.w}};
#else
  return *reinterpret_cast<const Pairs*>(from);
#endif
}
// Loads and stores of two adjacent elements.
__device__ inline uint32_t load_pair(const bf16* from) { return *reinterpret_cast<const uint32_t*>(from); }
__device__ inline void store_pair(bf16* to, uint32_t pair) { *reinterpret_cast<uint32_t*>(to) = pair; }
__device__ inline float half_of(uint32_t pair, int which) { return which == 0 ? low_of(pair) : high_of(pair); }

// Returns the barrier of the blocks with the same sentences. There is one for each tile, so that a block can continue
// with the next tile while others finish this one.
__device__ inline BlockBarrier own_barrier(unsigned* barriers, int tiles, int tile) {
  const auto index = (blockIdx.z * gridDim.y + blockIdx.y) * static_cast<unsigned>(tiles) + static_cast<unsigned>(tile);
  return {barriers + index * BlockBarrier::kStride, gridDim.x};
}

// ---- units -------------------------------------------------------------------------------------

// The units and sentences of a block, and those of a thread: pairs of units, the same in every step, so that a thread
// can read its own writes without synchronisation.
template <int kUnits, int kRows> struct Share {
  static constexpr int kPairs = kUnits / 2, kCount = kRows * kPairs;
  static constexpr int kItems = (kCount + kPersistentThreads - 1) / kPersistentThreads;  // per thread and tile
  static_assert(kPersistentThreads % kPairs == 0);

  int batch, hidden, tiles;

  __device__ int first_unit() const { return static_cast<int>(blockIdx.x) * kUnits; }
  __device__ int64_t first_sentence(int tile) const { return (int64_t{blockIdx.y} * tiles + tile) * kRows; }
  // Returns how many rows of a tile are sentences.
  __device__ int rows_of(int tile) const {
    const int64_t left = batch - first_sentence(tile);
    return left < kRows ? static_cast<int>(left) : kRows;
  }
  // The first unit of this thread within the block, and the row of an item within the tile.
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kPairs * 2; }
  __device__ static int row(int item) { return (static_cast<int>(threadIdx.x) + item * kPersistentThreads) / kPairs; }
  __device__ int unit() const { return first_unit() + column(); }
  __device__ int64_t sentence(int tile, int item) const { return first_sentence(tile) + row(item); }
  __device__ bool has(int tile, int item) const {
    return row(item) < kRows && unit() < hidden && sentence(tile, item) < batch;
  }
  // Returns the index in [B,width*H] of the first of `width` values.
  __device__ int64_t at(int tile, int item, int width = 1) const {
    return sentence(tile, item) * width * hidden + unit();
  }
};

// ---- the product -------------------------------------------------------------------------------

// Returns the address of a lane's part of the weight: [chunk, piece of 8 columns, lane].
template <int kColumns> __device__ Pairs* weight_at(Pairs* weight, int chunk, int piece, int lane) {
  return weight + (chunk * (kColumns / 8) + piece) * kWarp + lane;
}

// Returns how many chunks of k this block has, if every kStride-th one belongs to it.
template <int kStride> __device__ int own_chunks(int depth, int rank) {
  return ((depth + kChunk - 1) / kChunk - rank + kStride - 1) / kStride;
}

template <int kRows, int kColumns> class PersistentGemm {
 public:
  static constexpr int kTall = kRows / kPiece, kWide = kColumns / 8;
  static constexpr int kPart = kRows * kColumns / 2;  // pairs of sums per warp

  // Computes this warp's part of rows [kRows,depth] times the weight. The block has every kStride-th chunk of k,
  // starting at `rank`. Rows past the last one read the last row.
  template <int kStride = 1>
  __device__ void multiply(const bf16* rows, int row_count, int depth, Pairs* weight, int rank = 0) {
    constexpr int kAhead = kTall * kWide > 24 ? 2 : 4;  // loads in flight, limited by registers
    const int lane = lane_of_thread(), warp = static_cast<int>(threadIdx.x) / kWarp;
    const int column = rank * kChunk + lane % 4 * kVector;
    const bf16* from[kTall][2];
#pragma unroll
    for (int i = 0; i < 2 * kTall; ++i) {
      const int row = std::min(i * 8 + lane / 4, row_count - 1);
      from[i / 2][i % 2] = rows + int64_t{row} * depth + column;
    }
    const int chunks = own_chunks<kStride>(depth, rank);
    Pairs a[kAhead][kTall][2];
    const auto fetch = [&](Pairs(&to)[kTall][2], int chunk) {
      const int at = chunk * kStride * kChunk;
      const bool inside = at + column < depth;
#pragma unroll
      for (int i = 0; i < 2 * kTall; ++i) {
        to[i / 2][i % 2] = inside ? load_pairs(from[i / 2][i % 2] + at) : Pairs{};
      }
    };
    clear();
#pragma unroll
    for (int s = 0; s < kAhead; ++s) {
      if (warp + s * kPersistentWarps < chunks) fetch(a[s], warp + s * kPersistentWarps);
    }
    for (int first = warp; first < chunks; first += kAhead * kPersistentWarps) {
#pragma unroll
      for (int s = 0; s < kAhead; ++s) {
        const int chunk = first + s * kPersistentWarps, next = chunk + kAhead * kPersistentWarps;
        if (chunk < chunks) add(a[s], weight_at<kColumns>(weight, chunk, 0, lane));
        if (next < chunks) fetch(a[s], next);
      }
    }
  }

  // Combines the sums of all warps into `buffers` partial sums, which sum() adds up.
  __device__ void gather(Two* parts, int buffers) {
    const int warp = static_cast<int>(threadIdx.x) / kWarp;
    __syncthreads();  // the reads of the previous step are finished
    for (int last = kPersistentWarps - buffers; last > 0;
         last -= buffers) {  // warps from `last` on pass their sums down
      if (warp >= last && warp < last + buffers) exchange<false>(parts + (warp - last) * kPart);
      __syncthreads();
      if (warp >= last - buffers && warp < last) exchange<true>(parts + (warp - last + buffers) * kPart);
      __syncthreads();
    }
    if (warp < buffers) exchange<false>(parts + warp * kPart);
    __syncthreads();
  }
  // Returns the sums at a row, a piece of 8 columns and an even column in it.
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
  // Stores the sums of this warp, or adds stored sums to them.
  template <bool kTake> __device__ void exchange(Two* part) {
    const int lane = lane_of_thread();
#pragma unroll
    for (int i = 0; i < kTall * kWide; ++i) {
      float(&own)[4] = sums_[i / kWide][i % kWide];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Two& stored = part[two_at(i, half, lane)];
        if constexpr (kTake) {
          own[2 * half] += stored.x;
          own[2 * half + 1] += stored.y;
        } else {
          stored = {own[2 * half], own[2 * half + 1]};
        }
      }
    }
  }

  float sums_[kTall][kWide][4];
};

}  // namespace fovea::cuda
