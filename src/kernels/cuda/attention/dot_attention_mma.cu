// Scaled dot-product attention on tensor cores (Dao 2023, "FlashAttention-2", algorithm 1): scores and weights stay in
// registers, where the output fragment of the first GEMM is the left input fragment of the second. Each block has some
// queries of one head and iterates over the keys; the next tile of keys is copied while values are used, and vice
// versa.
#include "kernels/cuda/attention/dot_attention_mma.h"

namespace fovea::cuda {

namespace {

// Sets the weights that dropout drops to zero; the scaling by 1 / (1 - rate) is applied at the end.
template <int kCount>
__device__ void drop_cells(float (&weights)[kCount][4], const Attention& x, const Dropout& dropout, int64_t row,
                           int first, int begin) {
  uint32_t kept[kCount / 4][2];
  keep_cells<8 * kCount>(kept, x, dropout, row, first, begin);
#pragma unroll
  for (int i = 0; i < 4 * kCount; ++i) {
    if (!is_kept(kept, i % 4 / 2, i / 4, i % 2)) weights[i / 4][i % 4] = 0.0f;
  }
}

// The running softmax of 16 queries.
template <int kWidth> struct Queries {
  RowMask masks[2];
  float largest[2] = {-kInfinity, -kInfinity}, total[2] = {};  // `total` is the partial sum of this lane

  __device__ void begin(const Attention& x, const Which& which, int first) {
#pragma unroll
    for (int half = 0; half < 2; ++half) masks[half] = RowMask(x, which, first + row_of_lane() + 8 * half);
  }

  // Converts scores to weights and rescales the previous sums to the new maximum.
  template <int kCount> __device__ void weigh(float (&scores)[kCount][4], float (&result)[kWidth / 8][4]) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float now = largest[half], sum = 0.0f;
#pragma unroll
      for (int i = 0; i < 2 * kCount; ++i) now = fmaxf(now, scores[i / 2][2 * half + i % 2]);
      now = over_quad(now, Largest());
      const float shift = now == -kInfinity ? 0.0f : now, before = fast_exp2(largest[half] - shift);
#pragma unroll
      for (int i = 0; i < 2 * kCount; ++i) {
        float& score = scores[i / 2][2 * half + i % 2];
        score = fast_exp2(score - shift);
        sum += score;
      }
      total[half] = total[half] * before + sum;
      largest[half] = now;
#pragma unroll
      for (int i = 0; i < kWidth / 4; ++i) result[i / 2][2 * half + i % 2] *= before;
    }
  }

  // Writes the output through `tile`, the rows of the query tile that belong to this warp.
  __device__ void end(const Attention& x, int64_t row, int first, const float (&result)[kWidth / 8][4], bf16* tile,
                      bf16* out, float* lse) const {
    float factor[2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float sum = over_quad(total[half], Sum());
      const int t = first + 8 * half + row_of_lane();
      factor[half] = sum > 0.0f ? x.kept / sum : 0.0f;
      if (lane_of_quad() == 0 && t < x.queries) {
        lse[row * x.queries + t] = sum > 0.0f ? kLn2 * largest[half] + logf(sum) : -kInfinity;
      }
    }
    put_piece<kWidth>(tile, result, factor[0], factor[1]);
    write_piece<kWidth, false>(tile, x.head_of(out, row, x.queries, x.key_width), first, static_cast<int>(x.queries));
  }
};

// kWarps warps of 16 kPieces queries each, with kKeys keys per iteration.
template <int kWidth, int kWarps, int kPieces, int kKeys> struct Forward {
  static constexpr int kThreads = kWarps * kWarp, kOwn = kPieces * kPiece, kRows = kWarps * kOwn;
  static constexpr int kStride = stride_of<kWidth>;
  static constexpr int kShared = (kRows + 2 * kKeys) * kStride * int{sizeof(bf16)};
  // Resident threads per multiprocessor: enough to hide memory latency, few enough for the registers that each needs.
  static constexpr int kResidentThreads = kPieces > 1 || kWidth > 64 ? 256 : kKeys > 32 ? 512 : 640;
  static constexpr int kBlocks = std::min(kResidentThreads / kThreads, 32);
  static constexpr bool kOnce = kKeys <= 32;  // all keys are in the first tile
};

template <int kWidth, int kWarps, int kPieces, int kKeys>
__global__ void __launch_bounds__(kWarps* kWarp, (Forward<kWidth, kWarps, kPieces, kKeys>::kBlocks))
    attend_kernel(const __grid_constant__ Attention x, bf16* out, float* lse) {
  using Form = Forward<kWidth, kWarps, kPieces, kKeys>;
  bf16* query_tile = shared_memory<bf16>();
  bf16 *key_tile = query_tile + Form::kRows * Form::kStride, *value_tile = key_tile + kKeys * Form::kStride;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, queries = static_cast<int>(x.queries);
  const int block_first = static_cast<int>(blockIdx.y) * Form::kRows, first = block_first + warp * Form::kOwn;
  const Which which(x);
  const int64_t row = which.row;
  bf16* own_tile = query_tile + warp * Form::kOwn * Form::kStride;
  const Head<const bf16> keys = x.head_of(x.keys, row, x.count, x.key_width);
  const Head<const bf16> values = x.head_of(x.values, row, x.count, x.key_width);
  const int end = visible_keys(x, which, block_first + Form::kRows);
  const auto ask = [&](bf16* tile, const Head<const bf16>& from, int begin) {
    ask_for_rows<kWidth, kKeys, Form::kThreads>(tile, from, begin, end, thread);
    commit_copies();
  };
  ask_for_rows<kWidth, Form::kOwn, kWarp>(own_tile, x.head_of(x.query, row, x.queries, x.key_width), first, queries,
                                          thread % kWarp);
  ask(key_tile, keys, 0);
  ask(value_tile, values, 0);

  const Dropout dropout(x);
  Queries<kWidth> pieces[kPieces];
#pragma unroll
  for (int m = 0; m < kPieces; ++m) pieces[m].begin(x, which, first + m * kPiece);
  float result[kPieces][kWidth / 8][4] = {};
  wait_for_copies<1>();
  __syncthreads();
  for (int begin = 0; begin < (Form::kOnce ? 1 : end); begin += kKeys) {
    uint32_t weights[kKeys / kPiece][kPieces][4];
    if (first < queries) {
      float scores[kPieces][kKeys / 8][4] = {};
      add_row_products<kWidth>(scores, own_tile, key_tile);
#pragma unroll
      for (int m = 0; m < kPieces; ++m) {
        mask_scores(scores[m], pieces[m].masks, begin, x.scale * kLog2E);
        pieces[m].weigh(scores[m], result[m]);
        if (x.dropout > 0.0f) drop_cells(scores[m], x, dropout, row, first + m * kPiece, begin);
#pragma unroll
        for (int i = 0; i < kKeys / 4; ++i) {
          weights[i / 4][m][i % 4] = pack(scores[m][i / 2][i % 2 * 2], scores[m][i / 2][i % 2 * 2 + 1]);
        }
      }
    }
    wait_for_copies<0>();
    __syncthreads();  // the values have arrived, and no warp reads the keys any more
    const bool more = !Form::kOnce && begin + kKeys < end;
    if (more) ask(key_tile, keys, begin + kKeys);
    if (first < queries) {
#pragma unroll
      for (int k = 0; k < kKeys / kPiece; ++k) {
        add_weighted_rows<kWidth>(result, weights[k], value_tile + k * kPiece * Form::kStride);
      }
    }
    if (!more) break;
    wait_for_copies<0>();
    __syncthreads();
    ask(value_tile, values, begin + kKeys);
  }
  wait_for_copies<0>();
  __syncwarp();
#pragma unroll
  for (int m = 0; m < kPieces; ++m) {
    pieces[m].end(x, row, first + m * kPiece, result[m], own_tile + m * kPiece * Form::kStride, out, lse);
  }
}

template <int kWidth, int kWarps, int kPieces, int kKeys>
void attend(Stream& stream, const Attention& x, const DotAttentionArgs& args) {
  using Form = Forward<kWidth, kWarps, kPieces, kKeys>;
  const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.queries, Form::kRows))), dim3(Form::kThreads),
                     Form::kShared};
  launch(stream, attend_kernel<kWidth, kWarps, kPieces, kKeys>, grid, x, args.out.data<bf16>(), args.lse.data<float>());
}

}  // namespace

bool attend_with_mma(Stream& stream, const DotAttentionArgs& args) {
  if (!suits_tensor_cores(args)) return false;
  constexpr int64_t kManyBlocks = 132;  // one for each multiprocessor of an H100 or H200
  const Attention x(args);
  with_width(x.key_width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    if (x.queries <= 16 && x.count <= 32) return attend<kWidth, 1, 1, 32>(stream, x, args);
    if (x.queries <= 16) return attend<kWidth, 1, 1, 64>(stream, x, args);
    if (x.queries <= 32 && x.count <= 32) return attend<kWidth, 2, 1, 32>(stream, x, args);
    if (x.queries <= 32) return attend<kWidth, 2, 1, 64>(stream, x, args);
    // With 32 queries per warp, keys and values are read half as often.
    const bool long_enough = x.queries > 64 && x.rows() * ceil_div(x.queries, 128) >= kManyBlocks;
    if (long_enough) return attend<kWidth, 4, 2, 64>(stream, x, args);
    attend<kWidth, 4, 1, 64>(stream, x, args);
  });
  return true;
}

}  // namespace fovea::cuda
