// The common parts of the tensor-core kernels of dot-product attention. Elements are bf16. All columns of a head (at
// most 128, padded with zeros to kWidth) are in shared memory. A warp has pieces of 16 queries; in each row of scores,
// a lane of a quad has two adjacent columns of every eight. Scores are in units of log 2.
#pragma once

#include "kernels/cuda/attention/dot_attention_tiles.h"
#include "kernels/cuda/attention/dot_attention_variants.h"
#include "kernels/cuda/common/mma.h"

namespace fovea::cuda {

using Attention = DotAttention<bf16>;

constexpr float kLog2E = 1.44269504f, kLn2 = 0.69314718f;

// Rows of a tile are padded by 16 bytes, so that eight consecutive rows are in different banks.
template <int kWidth> constexpr int stride_of = kWidth + kVector;  // NOLINT(readability-identifier-naming)

// The upper row of a piece that this lane holds, and the index of the lane in its quad.
__device__ inline int row_of_lane() { return lane_of_thread() / 4; }
__device__ inline int lane_of_quad() { return lane_of_thread() % 4; }
template <class V, class Op> __device__ V over_quad(V x, Op op) {
  x = op(x, from_lane(x, 1));
  return op(x, from_lane(x, 2));
}

// The head of this block: `row` of B*H. The division uses 32 bits, which is much faster.
struct Which {
  int64_t row, sentence, head;

  explicit __device__ Which(const Attention& x)
      : row(blockIdx.x),
        sentence(blockIdx.x / static_cast<unsigned>(x.heads)),
        head(blockIdx.x % static_cast<unsigned>(x.heads)) {}
};

// Returns the number of keys that are visible to any query before t_end.
__device__ inline int visible_keys(const Attention& x, const Which& which, int t_end) {
  return static_cast<int>(x.mask.end(which.sentence, (t_end < x.queries ? t_end : x.queries) - 1));
}

// ---- tiles -------------------------------------------------------------------------------------

// Starts the asynchronous copy of rows [first, first + kRows) of a head by kThreads threads; rows from `end` on are
// zero.
template <int kWidth, int kRows, int kThreads>
__device__ void ask_for_rows(bf16* tile, const Head<const bf16>& x, int first, int end, int thread) {
  constexpr int kChunks = kWidth / kVector, kStep = kThreads / kChunks;  // kStep rows are copied per iteration
  static_assert(kThreads % kChunks == 0 && kRows % kStep == 0);
  const int column = thread % kChunks * kVector;
  const bool has_column = column < x.width;
  first += thread / kChunks;
  tile += thread / kChunks * stride_of<kWidth> + column;
  const bf16* from = x.at(first, column);
#pragma unroll 4
  for (int i = 0; i < kRows / kStep; ++i) {
    const bool inside = has_column && first + i * kStep < end;
    copy_async(tile + i * kStep * stride_of<kWidth>, inside ? from : x.data, inside);
    from += kStep * x.stride;
  }
}

// Stores a piece of results in the 16 rows at `tile`.
template <int kWidth>
__device__ void put_piece(bf16* tile, const uint32_t (&upper)[kWidth / 8], const uint32_t (&lower)[kWidth / 8]) {
  bf16* at = tile + row_of_lane() * stride_of<kWidth> + 2 * lane_of_quad();
#pragma unroll
  for (int n = 0; n < kWidth / 8; ++n) {
    *reinterpret_cast<uint32_t*>(at + 8 * n) = upper[n];
    *reinterpret_cast<uint32_t*>(at + 8 * stride_of<kWidth> + 8 * n) = lower[n];
  }
}
template <int kWidth> __device__ void put_piece(bf16* tile, const float (&sums)[kWidth / 8][4], float up, float down) {
  uint32_t upper[kWidth / 8], lower[kWidth / 8];
#pragma unroll
  for (int n = 0; n < kWidth / 8; ++n) {
    upper[n] = pack(sums[n][0] * up, sums[n][1] * up);
    lower[n] = pack(sums[n][2] * down, sums[n][3] * down);
  }
  put_piece<kWidth>(tile, upper, lower);
}

struct alignas(16) Vector {
  uint32_t pairs[4];
};
__device__ inline Vector sum_of(const Vector& a, const Vector& b) {
  Vector sum;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    sum.pairs[i] = pack(low_of(a.pairs[i]) + low_of(b.pairs[i]), high_of(a.pairs[i]) + high_of(b.pairs[i]));
  }
  return sum;
}

// Writes or adds the 16 rows at `tile`, which belong to this warp, to rows [first, end) of a head.
template <int kWidth, bool kAdd>
__device__ void write_piece(const bf16* tile, const Head<bf16>& x, int first, int end) {
  constexpr int kChunks = kWidth / kVector, kCount = kPiece * kChunks / kWarp;
  __syncwarp();
  Vector before[kCount];
  const auto each = [&](auto body) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int which = i * kWarp + lane_of_thread(), r = which / kChunks, column = which % kChunks * kVector;
      if (first + r < end && column < x.width) {
        body(i, reinterpret_cast<Vector*>(x.at(first + r, column)),
             *reinterpret_cast<const Vector*>(tile + r * stride_of<kWidth> + column));
      }
    }
  };
  // All rows are loaded before any is stored, so that the loads overlap.
  if constexpr (kAdd) each([&](int i, const Vector* at, const Vector&) { before[i] = *at; });
  each([&](int i, Vector* at, const Vector& result) { *at = kAdd ? sum_of(before[i], result) : result; });
}

// ---- products ----------------------------------------------------------------------------------

// sums [16 kPieces, 8 kCount] += rows of `own` . rows of `other`.
template <int kWidth, int kPieces, int kCount>
__device__ void add_row_products(float (&sums)[kPieces][kCount][4], const bf16* own, const bf16* other) {
  constexpr int kStride = stride_of<kWidth>;
#pragma unroll 2
  for (int k = 0; k < kWidth; k += kPiece) {
    uint32_t left[kPieces][4];
#pragma unroll
    for (int m = 0; m < kPieces; ++m) load_left(left[m], own + m * kPiece * kStride + k, kStride);
#pragma unroll
    for (int n = 0; n < kCount; n += 2) {
      uint32_t right[4];
      load_right_transposed(right, other + 8 * n * kStride + k, kStride);
#pragma unroll
      for (int m = 0; m < kPieces; ++m) {
        multiply_add(sums[m][n], left[m], right[0], right[1]);
        multiply_add(sums[m][n + 1], left[m], right[2], right[3]);
      }
    }
  }
}

// sums [16 kPieces, 8 kCount] += weights [16 kPieces, 16] times 16 rows, starting at `rows`.
template <int kWidth, int kPieces, int kCount>
__device__ void add_weighted_rows(float (&sums)[kPieces][kCount][4], const uint32_t (&weights)[kPieces][4],
                                  const bf16* rows) {
#pragma unroll
  for (int n = 0; n < kCount; n += 2) {
    uint32_t right[4];
    load_right(right, rows + 8 * n, stride_of<kWidth>);
#pragma unroll
    for (int m = 0; m < kPieces; ++m) {
      multiply_add(sums[m][n], weights[m], right[0], right[1]);
      multiply_add(sums[m][n + 1], weights[m], right[2], right[3]);
    }
  }
}

// ---- rows of scores ----------------------------------------------------------------------------

// The mask of one query.
struct RowMask {
  int end = 0;                  // number of visible keys
  const float* bias = nullptr;  // added to the scores

  RowMask() = default;
  __device__ RowMask(const Attention& x, const Which& which, int t) {
    if (t >= x.queries) return;
    end = static_cast<int>(x.mask.end(which.sentence, t));
    if (x.mask.bias == nullptr) return;
    bias = x.mask.bias + which.sentence * x.mask.bias_batch + which.head * x.mask.bias_heads + t * x.mask.bias_queries;
  }
};

// Computes the masked scores of this lane in a piece from the dot products, for keys from `begin` on.
template <int kCount>
__device__ void mask_scores(float (&scores)[kCount][4], const RowMask (&masks)[2], int begin, float scale) {
  const int own = begin + 2 * lane_of_quad();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int end = masks[half].end;
    const float* bias = masks[half].bias;
#pragma unroll
    for (int i = 0; i < 2 * kCount; ++i) scores[i / 2][2 * half + i % 2] *= scale;
    if (begin + 8 * kCount > end) {
#pragma unroll
      for (int i = 0; i < 2 * kCount; ++i) {
        if (own + i / 2 * 8 + i % 2 >= end) scores[i / 2][2 * half + i % 2] = -kInfinity;
      }
    }
    if (bias == nullptr) continue;
#pragma unroll
    for (int i = 0; i < 2 * kCount; ++i) {
      const int s = own + i / 2 * 8 + i % 2;
      float& score = scores[i / 2][2 * half + i % 2];
      if (s < end) score = bias[s] == -kInfinity ? -kInfinity : score + kLog2E * bias[s];
    }
  }
}

// The dropout mask of this lane's two rows of a piece for 32 keys: bit i is set if key i is kept. Philox yields four
// numbers at a time, so the lanes of a quad share the work: each draws the numbers for every fourth group of four
// elements in both rows.
struct Dropout {
  uint64_t seed = 0, stream = 0;
  uint32_t threshold = 0;
  bool aligned = true;  // each row starts at a multiple of four elements

  explicit __device__ Dropout(const Attention& x)
      : seed(x.random.seed), stream(x.random.stream()), threshold(x.threshold), aligned(x.count % 4 == 0) {}

  __device__ uint32_t four(uint64_t index) const {
    const RandomBits drawn = philox(seed, stream, index);
    uint32_t bits = 0;
#pragma unroll
    for (int i = 0; i < 4; ++i) bits |= (drawn.word[i] >= threshold ? 1u : 0u) << i;
    return bits;
  }
  // `cells` are the flat indices of the first key in the two rows.
  __device__ void keep(uint32_t (&kept)[2], const uint64_t (&cells)[2]) const {
    const auto lane = static_cast<unsigned>(lane_of_quad());
    const auto either = [](uint32_t a, uint32_t b) { return a | b; };
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint64_t first = cells[half] / 4 + lane;
      kept[half] = over_quad(four(first) << 4 * lane | four(first + 4) << (16 + 4 * lane), either);
    }
    if (aligned) return;
    // The row starts inside a group of four elements and ends inside a ninth group.
    const uint32_t ninth = four((lane == 0 ? cells[0] : cells[1]) / 4 + 8);
    const uint32_t ninths = over_quad(lane < 2 ? ninth << 4 * lane : 0, either);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint64_t more = uint64_t{ninths >> 4 * half & 15u} << 32;
      kept[half] = static_cast<uint32_t>((more | kept[half]) >> cells[half] % 4);
    }
  }
};

// The dropout bits of all keys of a tile, for a piece whose first query is `first`.
template <int kKeys>
__device__ void keep_cells(uint32_t (&kept)[kKeys / 32][2], const Attention& x, const Dropout& dropout, int64_t row,
                           int first, int begin) {
  const int64_t t = first + row_of_lane();
#pragma unroll
  for (int g = 0; g < kKeys / 32; ++g) {
    const auto cell = static_cast<uint64_t>((row * x.queries + t) * x.count + begin + 32 * g);
    dropout.keep(kept[g], {cell, cell + static_cast<uint64_t>(8 * x.count)});
  }
}
template <int kGroups> __device__ bool is_kept(const uint32_t (&kept)[kGroups][2], int half, int n, int odd) {
  return (kept[n / 4][half] >> (n % 4 * 8 + 2 * lane_of_quad() + odd) & 1u) != 0;
}

// ---- choice ------------------------------------------------------------------------------------

inline bool is_aligned(const Tensor& x) { return reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0; }

// Returns whether these kernels support a problem: bf16, keys and values of equal width that is a multiple of a vector,
// and nonempty.
template <class Args> bool suits_tensor_cores(const Args& args) {
  const int64_t width = args.query.dim(2) / args.heads;
  return args.query.dtype() == DType::kBF16 && width == args.values.dim(2) / args.heads && width % kVector == 0 &&
         width <= 128 && args.query.size() > 0 && args.keys.size() > 0 && is_aligned(args.query) &&
         is_aligned(args.keys) && is_aligned(args.values) && is_aligned(args.out);
}

// Calls body with the padded width of a head, as an integral constant.
template <class Body> void with_width(int64_t width, Body&& body) {
  if (width <= 32) return body(std::integral_constant<int, 32>());
  if (width <= 64) return body(std::integral_constant<int, 64>());
  body(std::integral_constant<int, 128>());
}

}  // namespace fovea::cuda
