// The gradients of scaled dot-product attention. With weights w = exp(score - lse) and dropout factors f:
//   dvalues = w f dout,  dw = f (dout . values),  dscore = w (dw - dout . out).
// The weights are computed twice, once for the queries and once for the keys and values, so that each sum is computed
// by one thread in a fixed order.
#include "kernels/cuda/attention/dot_attention_tiles.h"
#include "kernels/cuda/attention/dot_attention_variants.h"
#include "kernels/cuda/reduce/deterministic_sums.h"
#include "kernels/unfused.h"

namespace fovea::cuda {

namespace {

template <class T> struct OutputDotGrad {  // computes dout . out of row (b,h,t)
  const T *out, *dout;
  int64_t rows, queries, width;  // `rows` is batch * heads
  __device__ float operator()(int64_t n, int64_t i) const {
    const int64_t row = n / queries, t = n % queries, at = (t * rows + row) * width + i;
    return load(out + at) * load(dout + at);
  }
};

// The contributions of query t and key s: w f, and scale * w (dw - sum of w dw).
struct CellGrad {
  float weight = 0.0f, dproduct = 0.0f;
};
template <class T>
__device__ CellGrad cell_grad(const DotAttention<T>& x, const float* delta, uint64_t stream, int64_t row, int64_t t,
                              int64_t s, float product, float dweight) {
  const float score = x.score(product, row, t, s);
  if (score == -kInfinity) return {};
  const float weight = expf(score - x.lse[row * x.queries + t]), f = x.factor(stream, row, t, s);
  return {weight * f, x.scale * weight * (f * dweight - delta[row * x.queries + t])};
}

// Each block computes dquery for 32 queries, iterating over the keys.
template <int kCount, class T>
__global__ void __launch_bounds__(kTileThreads)
    dot_query_grad_kernel(const __grid_constant__ DotAttention<T> x, const T* dout, const float* delta, T* dquery) {
  __shared__ ProductTile own_tile, other_tile;
  __shared__ float dproducts[kTileRows][kWarp + 1];
  __shared__ ColumnTile columns;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kTileRows;
  const int64_t column = int64_t{blockIdx.z} * kCount * kWarp;
  const Head<const T> query = x.head_of(x.query, row, x.queries, x.key_width);
  const Head<const T> keys = x.head_of(x.keys, row, x.count, x.key_width);
  const Head<const T> values = x.head_of(x.values, row, x.count, x.value_width);
  const Head<const T> result = x.head_of(dout, row, x.queries, x.value_width);
  const uint64_t stream = x.random.stream();
  const int64_t end = x.visible_keys(row, first + kTileRows);

  float sums[kOwnRows][kCount] = {};
  for (int64_t begin = 0; begin < end; begin += kTileRows) {
    float products[kOwnRows] = {}, dweights[kOwnRows] = {};
    add_products(products, query, first, x.queries, keys, begin, end, own_tile, other_tile);
    add_products(dweights, result, first, x.queries, values, begin, end, own_tile, other_tile);
#pragma unroll
    for (int r = 0; r < kOwnRows; ++r) {
      const int64_t t = first + warp * kOwnRows + r, s = begin + lane;
      const CellGrad cell = cell_grad(x, delta, stream, row, t, s, products[r], dweights[r]);
      dproducts[warp * kOwnRows + r][lane] = cell.dproduct;
    }
    load_tile<kCount * kWarp>(columns, keys, begin, end, column);
    __syncthreads();
    add_weighted<kCount>(sums, dproducts, columns);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) {
    const int64_t t = first + warp * kOwnRows + r;
    if (t >= x.queries) continue;
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const int64_t at = column + c * kWarp + lane;
      if (at < x.key_width) add(x.head_of(dquery, row, x.queries, x.key_width).at(t, at), sums[r][c]);
    }
  }
}

// Each block computes dkeys and dvalues for 32 keys, iterating over the queries.
template <int kCount, class T>
__global__ void __launch_bounds__(kTileThreads)
    dot_key_grad_kernel(const __grid_constant__ DotAttention<T> x, const T* dout, const float* delta, T* dkeys,
                        T* dvalues) {
  __shared__ ProductTile own_tile, other_tile;
  __shared__ float weights[kTileRows][kWarp + 1], dproducts[kTileRows][kWarp + 1];
  __shared__ ColumnTile columns;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t row = blockIdx.x, first = int64_t{blockIdx.y} * kTileRows;
  const int64_t column = int64_t{blockIdx.z} * kCount * kWarp;
  const Head<const T> query = x.head_of(x.query, row, x.queries, x.key_width);
  const Head<const T> keys = x.head_of(x.keys, row, x.count, x.key_width);
  const Head<const T> values = x.head_of(x.values, row, x.count, x.value_width);
  const Head<const T> result = x.head_of(dout, row, x.queries, x.value_width);
  const uint64_t stream = x.random.stream();
  const int64_t end = x.visible_keys(row, x.queries);
  if (first >= end) return;  // no query attends to any of these keys

  float key_sums[kOwnRows][kCount] = {}, value_sums[kOwnRows][kCount] = {};
  for (int64_t begin = 0; begin < x.queries; begin += kTileRows) {
    if (first >= x.visible_keys(row, begin + kTileRows)) continue;
    float products[kOwnRows] = {}, dweights[kOwnRows] = {};
    add_products(products, keys, first, end, query, begin, x.queries, own_tile, other_tile);
    add_products(dweights, values, first, end, result, begin, x.queries, own_tile, other_tile);
#pragma unroll
    for (int r = 0; r < kOwnRows; ++r) {
      const int64_t s = first + warp * kOwnRows + r, t = begin + lane;
      const CellGrad cell = cell_grad(x, delta, stream, row, t, s, products[r], dweights[r]);
      weights[warp * kOwnRows + r][lane] = cell.weight;
      dproducts[warp * kOwnRows + r][lane] = cell.dproduct;
    }
    load_tile<kCount * kWarp>(columns, query, begin, x.queries, column);
    __syncthreads();
    add_weighted<kCount>(key_sums, dproducts, columns);
    __syncthreads();
    load_tile<kCount * kWarp>(columns, result, begin, x.queries, column);
    __syncthreads();
    add_weighted<kCount>(value_sums, weights, columns);
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kOwnRows; ++r) {
    const int64_t s = first + warp * kOwnRows + r;
    if (s >= x.count) continue;
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const int64_t at = column + c * kWarp + lane;
      if (dkeys != nullptr && at < x.key_width) {
        add(x.head_of(dkeys, row, x.count, x.key_width).at(s, at), key_sums[r][c]);
      }
      if (dvalues != nullptr && at < x.value_width) {
        add(x.head_of(dvalues, row, x.count, x.value_width).at(s, at), value_sums[r][c]);
      }
    }
  }
}

}  // namespace

void dot_attention_grad(Stream& stream, const DotAttentionGradArgs& args) {
  if (attend_decoder_step_grad(stream, args) || attend_with_gemm_grad(stream, args)) return;
  if (attend_with_cudnn_grad(stream, args)) return;
  zero_unless(args.accumulate, {args.dquery, args.dkeys, args.dvalues});
  if (attend_with_mma_grad(stream, args)) return;
  with_type_of(args.query, [&]<class T>(T) {
    const DotAttention<T> x(args);
    const T* dout = args.dout.data<T>();
    Workspace workspace(stream);
    float* delta = workspace.allocate<float>(x.rows() * x.queries);
    row_sums(stream, x.rows() * x.queries, x.value_width,
             OutputDotGrad<T>{args.out.data<T>(), dout, x.rows(), x.queries, x.value_width},
             SumTo<float>{delta, false});
    const auto grid_for = [&](int64_t rows, int64_t width, int columns) {
      return Grid{dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(rows, kTileRows)),
                       to_unsigned(ceil_div(width, columns * kWarp))),
                  dim3(kTileThreads)};
    };
    if (args.dquery) {
      with_columns(x.key_width, [&](auto count) {
        constexpr int kCount = decltype(count)::value;
        launch(stream, dot_query_grad_kernel<kCount, T>, grid_for(x.queries, x.key_width, kCount), x, dout, delta,
               args.dquery.data<T>());
      });
    }
    if (args.dkeys || args.dvalues) {
      const int64_t width = std::max(x.key_width, x.value_width);
      with_columns(width, [&](auto count) {
        constexpr int kCount = decltype(count)::value;
        launch(stream, dot_key_grad_kernel<kCount, T>, grid_for(x.count, width, kCount), x, dout, delta,
               args.dkeys.data<T>(), args.dvalues.data<T>());
      });
    }
  });
}

}  // namespace fovea::cuda
