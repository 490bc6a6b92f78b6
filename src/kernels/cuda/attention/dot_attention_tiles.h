// The common parts of the plain forward and backward kernels of dot-product attention: tiles of 32 queries by 32 keys.
// A block of four warps computes the dot products of a tile; each warp has eight of its own rows, and each lane one of
// the other rows.
#pragma once

#include "kernels/cuda/attention/mask.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

constexpr int kTileRows = 32;                     // queries and keys of a tile
constexpr int kTileWarps = 4;                     // per block
constexpr int kOwnRows = kTileRows / kTileWarps;  // per warp
constexpr int kTileThreads = kTileWarps * kWarp;
constexpr int kDepth = 64;              // columns of the dot products per iteration
constexpr int kMaxColumns = 4 * kWarp;  // output columns per block

// One head of one sentence in a sequence [N,B,H*width].
template <class T> struct Head {
  T* data;
  int64_t rows, stride, width;

  __device__ T* at(int64_t row, int64_t column) const { return data + row * stride + column; }
};

// The kernel parameters; the block index gives the sentence and the head.
template <class T> struct DotAttention {
  const T *query, *keys, *values;
  const float* lse;
  MaskView mask;
  RandomSource random;
  int64_t batch, heads, queries, count, key_width, value_width;
  float scale, dropout, kept;
  uint32_t threshold;

  template <class Args>
  explicit DotAttention(const Args& args)
      : query(args.query.template data<T>()),
        keys(args.keys.template data<T>()),
        values(args.values.template data<T>()),
        lse(args.lse.template data<float>()),
        mask(args.mask, args.keys.dim(0)),
        random(args.random),
        batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        count(args.keys.dim(0)),
        key_width(args.query.dim(2) / args.heads),
        value_width(args.values.dim(2) / args.heads),
        scale(args.scale),
        dropout(args.dropout),
        kept(1.0f / (1.0f - args.dropout)),
        threshold(drop_threshold(args.dropout)) {}
  int64_t rows() const { return batch * heads; }

  template <class E> __device__ Head<E> head_of(E* x, int64_t row, int64_t steps, int64_t width) const {
    return {x + row * width, steps, batch * heads * width, width};
  }
  // Returns the dropout factor of the attention weight (row, t, s).
  __device__ float factor(uint64_t stream, int64_t row, int64_t t, int64_t s) const {
    if (dropout == 0.0f) return 1.0f;
    const auto cell = static_cast<uint64_t>((row * queries + t) * count + s);
    return random_word(random.seed, stream, cell) >= threshold ? kept : 0.0f;
  }
  // Returns the masked score for a dot product, -inf if the key is masked.
  __device__ float score(float product, int64_t row, int64_t t, int64_t s) const {
    const int64_t b = row / heads;
    if (t >= queries || s >= mask.end(b, t)) return -kInfinity;
    return mask(scale * product, b, row % heads, t, s);
  }
  // Returns the number of keys that are visible to any query before t_end.
  __device__ int64_t visible_keys(int64_t row, int64_t t_end) const {
    return mask.end(row / heads, (t_end < queries ? t_end : queries) - 1);
  }
};

using ProductTile = float[kTileRows][kDepth + 1];
using ColumnTile = float[kTileRows][kMaxColumns];

// Loads rows [first, first + 32) and columns [column, column + kCount) of a head; elements outside, and from row `end`
// on, are zero.
template <int kCount, class T, int kStride>
__device__ void load_tile(float (&to)[kTileRows][kStride], const Head<T>& x, int64_t first, int64_t end,
                          int64_t column) {
  for (int e = static_cast<int>(threadIdx.x); e < kTileRows * kCount; e += kTileThreads) {
    const int r = e / kCount, c = e % kCount;
    const bool inside = first + r < end && column + c < x.width;
    to[r][c] = inside ? load(x.at(first + r, column + c)) : 0.0f;
  }
}

// sums[r] += (row `own_first` + 8 warp + r of own) . (row `first` + lane of other). All threads must call it; rows from
// `own_end` and `end` on count as zero.
template <class T, class O>
__device__ void add_products(float (&sums)[kOwnRows], const Head<T>& own, int64_t own_first, int64_t own_end,
                             const Head<O>& other, int64_t first, int64_t end, ProductTile& own_tile,
                             ProductTile& other_tile) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int64_t column = 0; column < own.width; column += kDepth) {
    __syncthreads();
    load_tile<kDepth>(own_tile, own, own_first, own_end, column);
    load_tile<kDepth>(other_tile, other, first, end, column);
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < kDepth; ++i) {
      const float x = other_tile[lane][i];
#pragma unroll
      for (int r = 0; r < kOwnRows; ++r) sums[r] += own_tile[warp * kOwnRows + r][i] * x;
    }
  }
}

// sums[r][c] += sum over the 32 others of weights[8 warp + r][other] * columns[other][32 c + lane].
template <int kCount>
__device__ void add_weighted(float (&sums)[kOwnRows][kCount], const float (&weights)[kTileRows][kWarp + 1],
                             const ColumnTile& columns) {
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
#pragma unroll 4
  for (int other = 0; other < kTileRows; ++other) {
    float x[kCount];
#pragma unroll
    for (int c = 0; c < kCount; ++c) x[c] = columns[other][c * kWarp + lane];
#pragma unroll
    for (int r = 0; r < kOwnRows; ++r) {
      const float weight = weights[warp * kOwnRows + r][other];
#pragma unroll
      for (int c = 0; c < kCount; ++c) sums[r][c] += weight * x[c];
    }
  }
}

// Calls body with the number of output columns per lane, as an integral constant.
template <class Body> void with_columns(int64_t width, Body&& body) {
  if (width <= kWarp) return body(std::integral_constant<int, 1>());
  if (width <= 2 * kWarp) return body(std::integral_constant<int, 2>());
  body(std::integral_constant<int, 4>());
}

}  // namespace fovea::cuda
