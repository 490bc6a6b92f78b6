// Scaled dot-product attention (Vaswani et al. 2017, equation 1) with an online softmax (Milakov & Gimelshein 2018; Dao
// et al. 2022): the attention weights are stored only if the caller requests them.
#include "kernels/cuda/attention/dot_attention_tiles.h"

#include "kernels/cuda/attention/dot_attention_variants.h"

namespace fovea::cuda {

namespace {

// Each block computes 32 queries of a head and 32 kCount columns of the output, iterating over the keys.
template <int kCount, class T>
__global__ void __launch_bounds__(kTileThreads)
    dot_attention_kernel(const __grid_constant__ DotAttention<T> x, T* out, float* lse) {
  __shared__ ProductTile query_tile, key_tile;
  __shared__ float weights[kTileRows][kWarp + 1];
  __shared__ ColumnTile value_tile;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kTileRows;
  const int64_t column = int64_t{blockIdx.z} * kCount * kWarp;
  const Head<const T> query = x.head_of(x.query, row, x.queries, x.key_width);
  const Head<const T> keys = x.head_of(x.keys, row, x.count, x.key_width);
  const Head<const T> values = x.head_of(x.values, row, x.count, x.value_width);
  const uint64_t stream = x.random.stream();
  const int64_t end = x.visible_keys(row, first + kTileRows);

  float largest[kOwnRows], total[kOwnRows] = {}, result[kOwnRows][kCount] = {};
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) largest[r] = -kInfinity;
  for (int64_t begin = 0; begin < end; begin += kTileRows) {
    float products[kOwnRows] = {};
    add_products(products, query, first, x.queries, keys, begin, end, query_tile, key_tile);
#pragma unroll
    for (int r = 0; r < kOwnRows; ++r) {
      const int64_t t = first + warp * kOwnRows + r, s = begin + lane;
      const float score = x.score(products[r], row, t, s);
      const float now = fmaxf(largest[r], over_warp(score, Largest()));
      const bool any = now > -kInfinity;
      const float weight = any ? expf(score - now) : 0.0f, before = any ? expf(largest[r] - now) : 0.0f;
      total[r] = total[r] * before + over_warp(weight, Sum());
      largest[r] = now;
#pragma unroll
      for (int c = 0; c < kCount; ++c) result[r][c] *= before;
      weights[warp * kOwnRows + r][lane] = weight == 0.0f ? 0.0f : weight * x.factor(stream, row, t, s);
    }
    load_tile<kCount * kWarp>(value_tile, values, begin, end, column);
    __syncthreads();
    add_weighted<kCount>(result, weights, value_tile);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) {
    const int64_t t = first + warp * kOwnRows + r;
    if (t >= x.queries) continue;
    const float inverse = total[r] > 0.0f ? 1.0f / total[r] : 0.0f;
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const int64_t at = column + c * kWarp + lane;
      if (at < x.value_width) store(x.head_of(out, row, x.queries, x.value_width).at(t, at), result[r][c] * inverse);
    }
    if (lane == 0 && blockIdx.z == 0) {
      lse[row * x.queries + t] = total[r] > 0.0f ? largest[r] + logf(total[r]) : -kInfinity;
    }
  }
}

// Computes the attention weights before dropout from the log-sum-exp of each row. Each block computes one tile.
template <class T>
__global__ void __launch_bounds__(kTileThreads)
    weights_kernel(const __grid_constant__ DotAttention<T> x, const float* lse, T* weights) {
  __shared__ ProductTile query_tile, key_tile;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kTileRows, begin = int64_t{blockIdx.z} * kTileRows;
  float products[kOwnRows] = {};
  add_products(products, x.head_of(x.query, row, x.queries, x.key_width), first, x.queries,
               x.head_of(x.keys, row, x.count, x.key_width), begin, x.count, query_tile, key_tile);
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) {
    const int64_t t = first + warp * kOwnRows + r, s = begin + lane;
    if (t >= x.queries || s >= x.count) continue;
    const float score = x.score(products[r], row, t, s), log_sum = lse[row * x.queries + t];
    store(weights + (row * x.queries + t) * x.count + s, score == -kInfinity ? 0.0f : expf(score - log_sum));
  }
}

void attend_plain(Stream& stream, const DotAttentionArgs& args) {
  with_type_of(args.query, [&]<class T>(T) {
    const DotAttention<T> x(args);
    with_columns(x.value_width, [&](auto count) {
      constexpr int kCount = decltype(count)::value;
      const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.queries, kTileRows)),
                              to_unsigned(ceil_div(x.value_width, kCount * kWarp))),
                         dim3(kTileThreads)};
      launch(stream, dot_attention_kernel<kCount, T>, grid, x, args.out.data<T>(), args.lse.data<float>());
    });
  });
}

void write_weights(Stream& stream, const DotAttentionArgs& args) {
  with_type_of(args.query, [&]<class T>(T) {
    const DotAttention<T> x(args);
    const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.queries, kTileRows)),
                            to_unsigned(ceil_div(x.count, kTileRows))),
                       dim3(kTileThreads)};
    launch(stream, weights_kernel<T>, grid, x, args.lse.data<float>(), args.weights.data<T>());
  });
}

}  // namespace

void dot_attention(Stream& stream, const DotAttentionArgs& args) {
  if (attend_decoder_step(stream, args) || attend_single_query(stream, args) || attend_with_gemm(stream, args)) return;
  if (!attend_with_cudnn(stream, args) && !attend_with_mma(stream, args)) attend_plain(stream, args);
  if (args.weights) write_weights(stream, args);
}

}  // namespace fovea::cuda
