// The gradients of scaled dot-product attention on tensor cores (dot_attention_grad.cu has the equations). Each block
// has a tile of keys of one head and iterates over the queries: each warp computes the weights of its queries, stores
// them in shared memory, and then accumulates the gradients of its keys over all queries. If one block has all keys of
// a head, it also computes dquery; otherwise a second kernel computes it by iterating over the keys, so that each sum
// is computed by one warp in a fixed order.
#include "kernels/cuda/attention/dot_attention_mma.h"
#include "kernels/cuda/common/workspace.h"

namespace fovea::cuda {

namespace {

struct Gradients {
  const bf16* dout;
  const float* delta;  // dout . out of each query; null if the block computes it
  bf16 *dquery, *dkeys, *dvalues;
};

// The contributions of the warp's 16 queries and the keys of a tile, as left factors: w f, and w (dw - sum of w dw).
template <int kKeys> struct Cells {
  uint32_t weights[kKeys / kPiece][4], dscores[kKeys / kPiece][4];

  // `query` and `dout` are the warp's rows of these tiles. kWhole means that the tile has all keys.
  template <int kWidth, bool kWhole>
  __device__ void find(const Attention& x, const Dropout& dropout, const float* delta, const Which& which, int first,
                       int begin, const bf16* query, const bf16* keys, const bf16* dout, const bf16* values) {
    float scores[1][kKeys / 8][4] = {}, dweights[1][kKeys / 8][4] = {};
    add_row_products<kWidth>(scores, query, keys);
    add_row_products<kWidth>(dweights, dout, values);
    const int64_t row = which.row;
    RowMask masks[2];
    float log_sum[2], sum[2] = {};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int t = first + row_of_lane() + 8 * half;
      masks[half] = RowMask(x, which, t);
      log_sum[half] = t < x.queries ? x.lse[row * x.queries + t] * kLog2E : 0.0f;
      if (log_sum[half] == -kInfinity) log_sum[half] = 0.0f;  // all keys are masked, so that all scores are -inf
      if (!kWhole && t < x.queries) sum[half] = delta[row * x.queries + t];
    }
    mask_scores(scores[0], masks, begin, x.scale * kLog2E);
    uint32_t kept[kKeys / 32][2];
    const bool drops = x.dropout > 0.0f;
    if (drops) keep_cells<kKeys>(kept, x, dropout, row, first, begin);
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      const int n = i / 4, half = i % 4 / 2;
      float &weight = scores[0][n][i % 4], &dweight = dweights[0][n][i % 4];
      weight = fast_exp2(weight - log_sum[half]);
      if (drops) dweight = is_kept(kept, half, n, i % 2) ? dweight * x.kept : 0.0f;
      if (kWhole) sum[half] += weight * dweight;
    }
    if (kWhole) {
#pragma unroll
      for (float& each : sum) each = over_quad(each, Sum());
    }
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) {
      const int n = i / 2, half = i % 2, at = 2 * half;
      const float *weight = &scores[0][n][at], *dweight = &dweights[0][n][at];
      dscores[i / 4][i % 4] = pack(weight[0] * (dweight[0] - sum[half]), weight[1] * (dweight[1] - sum[half]));
      float given[2] = {weight[0], weight[1]};
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        if (drops) given[odd] = is_kept(kept, half, n, odd) ? given[odd] * x.kept : 0.0f;
      }
      weights[i / 4][i % 4] = pack(given[0], given[1]);
    }
  }
};

// Stores them as 16 rows of kKeys columns.
template <int kKeys> __device__ void put_cells(bf16* tile, const uint32_t (&cells)[kKeys / kPiece][4]) {
  bf16* at = tile + row_of_lane() * stride_of<kKeys> + 2 * lane_of_quad();
#pragma unroll
  for (int i = 0; i < kKeys / 4; ++i) {
    *reinterpret_cast<uint32_t*>(at + i % 2 * 8 * stride_of<kKeys> + i / 2 * 8) = cells[i / 4][i % 4];
  }
}

// The gradient of the warp's 16 queries for keys that are all in one tile. It processes a few columns at a time to save
// registers.
template <int kWidth> struct QueryGradient {
  uint32_t upper[kWidth / 8], lower[kWidth / 8];

  template <int kKeys>
  __device__ void find(const uint32_t (&dscores)[kKeys / kPiece][4], const bf16* keys, float scale) {
    constexpr int kSome = 4;
#pragma unroll
    for (int n = 0; n < kWidth / 8; n += kSome) {
      float sums[1][kSome][4] = {};
#pragma unroll
      for (int k = 0; k < kKeys / kPiece; ++k) {
        const uint32_t left[1][4] = {{dscores[k][0], dscores[k][1], dscores[k][2], dscores[k][3]}};
        add_weighted_rows<kWidth>(sums, left, keys + k * kPiece * stride_of<kWidth> + 8 * n);
      }
#pragma unroll
      for (int i = 0; i < kSome; ++i) {
        upper[n + i] = pack(scale * sums[0][i][0], scale * sums[0][i][1]);
        lower[n + i] = pack(scale * sums[0][i][2], scale * sums[0][i][3]);
      }
    }
  }
};

template <int kWidth, int kWarps, bool kOnce = false> struct Backward {
  static constexpr int kThreads = kWarps * kWarp, kKeys = kWarps * kPiece, kStride = stride_of<kWidth>;
  static constexpr int kTile = kKeys * kStride, kCells = kKeys * stride_of<kKeys>;
  static constexpr int kShared = (4 * kTile + 2 * kCells) * int{sizeof(bf16)};
  static constexpr int kResidentThreads = kWidth > 64 || kWarps > 2 ? 256
                                          : kOnce                   ? 512
                                                                    : 384;  // resident threads per multiprocessor
  static constexpr int kBlocks = kResidentThreads / kThreads;
};

// Prefetches the rows that will be accumulated into.
template <int kRows, int kThreads> __device__ void fetch_rows_ahead(const Head<bf16>& x, int first, int end) {
  const int r = static_cast<int>(threadIdx.x);
  static_assert(kRows <= kThreads);
  if (r >= kRows || first + r >= end) return;
  for (int column = 0; column < x.width; column += 128 / int{sizeof(bf16)}) prefetch(x.at(first + r, column));
}

// kWhole means that the tile has all keys; kOnce, that it has all queries as well and no sum is carried over.
template <int kWidth, int kWarps, bool kWhole, bool kOnce>
__global__ void __launch_bounds__(kWarps* kWarp, (Backward<kWidth, kWarps, kOnce>::kBlocks))
    attend_grad_kernel(const __grid_constant__ Attention x, const __grid_constant__ Gradients grads) {
  using Form = Backward<kWidth, kWarps, kOnce>;
  constexpr int kKeys = Form::kKeys, kStride = Form::kStride, kOwn = kPiece * kStride;
  bf16* key_tile = shared_memory<bf16>();
  bf16 *value_tile = key_tile + Form::kTile, *query_tile = value_tile + Form::kTile;
  bf16 *dout_tile = query_tile + Form::kTile, *weights = dout_tile + Form::kTile, *dscores = weights + Form::kCells;
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = lane_of_thread();
  const Which which(x);
  const int64_t row = which.row;
  const int first = static_cast<int>(blockIdx.y) * kKeys, own_key = first + warp * kPiece;
  const int end = visible_keys(x, which, static_cast<int>(x.queries)), queries = static_cast<int>(x.queries);
  if (first >= end) return;  // no query attends to any of these keys
  const Head<const bf16> query = x.head_of(x.query, row, x.queries, x.key_width);
  const Head<const bf16> dout = x.head_of(grads.dout, row, x.queries, x.key_width);
  const Head<bf16> dquery = x.head_of(grads.dquery, row, x.queries, x.key_width);
  const Head<bf16> dkeys = x.head_of(grads.dkeys, row, x.count, x.key_width);
  const Head<bf16> dvalues = x.head_of(grads.dvalues, row, x.count, x.key_width);
  ask_for_rows<kWidth, kPiece, kWarp>(key_tile + warp * kOwn, x.head_of(x.keys, row, x.count, x.key_width), own_key,
                                      end, lane);
  ask_for_rows<kWidth, kPiece, kWarp>(value_tile + warp * kOwn, x.head_of(x.values, row, x.count, x.key_width), own_key,
                                      end, lane);
  const Dropout dropout(x);
  float key_sums[1][kWidth / 8][4] = {}, value_sums[1][kWidth / 8][4] = {};
  for (int begin = 0; begin < (kOnce ? 1 : queries); begin += kKeys) {
    if (!kOnce && first >= visible_keys(x, which, begin + kKeys)) continue;
    const int own_query = begin + warp * kPiece;
    ask_for_rows<kWidth, kPiece, kWarp>(query_tile + warp * kOwn, query, own_query, queries, lane);
    ask_for_rows<kWidth, kPiece, kWarp>(dout_tile + warp * kOwn, dout, own_query, queries, lane);
    commit_copies();
    if (begin == 0 && grads.dkeys != nullptr) fetch_rows_ahead<kKeys, Form::kThreads>(dkeys, first, end);
    if (begin == 0 && grads.dvalues != nullptr) fetch_rows_ahead<kKeys, Form::kThreads>(dvalues, first, end);
    if (kWhole && grads.dquery != nullptr) fetch_rows_ahead<kKeys, Form::kThreads>(dquery, begin, queries);
    wait_for_copies<0>();
    __syncthreads();
    QueryGradient<kWidth> query_gradient;
    if (own_query < queries) {
      Cells<kKeys> cells;
      cells.template find<kWidth, kWhole>(x, dropout, grads.delta, which, own_query, first, query_tile + warp * kOwn,
                                          key_tile, dout_tile + warp * kOwn, value_tile);
      put_cells<kKeys>(weights + warp * kPiece * stride_of<kKeys>, cells.weights);
      put_cells<kKeys>(dscores + warp * kPiece * stride_of<kKeys>, cells.dscores);
      if (kWhole && grads.dquery != nullptr) query_gradient.template find<kKeys>(cells.dscores, key_tile, x.scale);
    }
    __syncthreads();
    const int left = (queries - begin + kPiece - 1) / kPiece, pieces = own_key >= end  ? 0
                                                                       : left < kWarps ? left
                                                                                       : kWarps;
    for (int k = 0; k < pieces; ++k) {
      const int at = k * kPiece * stride_of<kKeys> + warp * kPiece;
      uint32_t factor[1][4];
      load_left_transposed(factor[0], weights + at, stride_of<kKeys>);
      add_weighted_rows<kWidth>(value_sums, factor, dout_tile + k * kOwn);
      load_left_transposed(factor[0], dscores + at, stride_of<kKeys>);
      add_weighted_rows<kWidth>(key_sums, factor, query_tile + k * kOwn);
    }
    __syncthreads();
    if (kWhole && grads.dquery != nullptr && own_query < queries) {
      put_piece<kWidth>(query_tile + warp * kOwn, query_gradient.upper, query_gradient.lower);
      write_piece<kWidth, true>(query_tile + warp * kOwn, dquery, own_query, queries);
      __syncwarp();
    }
  }
  if (own_key >= end) return;
  if (grads.dkeys != nullptr) {
    put_piece<kWidth>(key_tile + warp * kOwn, key_sums[0], x.scale, x.scale);
    write_piece<kWidth, true>(key_tile + warp * kOwn, dkeys, own_key, end);
  }
  if (grads.dvalues != nullptr) {
    put_piece<kWidth>(value_tile + warp * kOwn, value_sums[0], 1.0f, 1.0f);
    write_piece<kWidth, true>(value_tile + warp * kOwn, dvalues, own_key, end);
  }
}

// Computes dquery alone: each block has 64 queries and iterates over the keys.
template <int kWidth>
__global__ void __launch_bounds__(4 * kWarp)
    attend_query_grad_kernel(const __grid_constant__ Attention x, const __grid_constant__ Gradients grads) {
  using Form = Backward<kWidth, 4>;
  constexpr int kKeys = Form::kKeys, kOwn = kPiece * Form::kStride;
  bf16* key_tile = shared_memory<bf16>();
  bf16 *value_tile = key_tile + Form::kTile, *query_tile = value_tile + Form::kTile;
  bf16* dout_tile = query_tile + Form::kTile;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = lane_of_thread();
  const Which which(x);
  const int64_t row = which.row;
  const int block_first = static_cast<int>(blockIdx.y) * kKeys, first = block_first + warp * kPiece;
  const Head<const bf16> keys = x.head_of(x.keys, row, x.count, x.key_width);
  const Head<const bf16> values = x.head_of(x.values, row, x.count, x.key_width);
  const int end = visible_keys(x, which, block_first + kKeys), queries = static_cast<int>(x.queries);
  if (end == 0) return;
  bf16 *own_query = query_tile + warp * kOwn, *own_dout = dout_tile + warp * kOwn;
  ask_for_rows<kWidth, kPiece, kWarp>(own_query, x.head_of(x.query, row, x.queries, x.key_width), first, queries, lane);
  ask_for_rows<kWidth, kPiece, kWarp>(own_dout, x.head_of(grads.dout, row, x.queries, x.key_width), first, queries,
                                      lane);
  commit_copies();  // committed here, because there may be no keys
  const Dropout dropout(x);
  float sums[1][kWidth / 8][4] = {};
  for (int begin = 0; begin < end; begin += kKeys) {
    __syncthreads();
    ask_for_rows<kWidth, kKeys, Form::kThreads>(key_tile, keys, begin, end, thread);
    ask_for_rows<kWidth, kKeys, Form::kThreads>(value_tile, values, begin, end, thread);
    commit_copies();
    wait_for_copies<0>();
    __syncthreads();
    Cells<kKeys> cells;
    cells.template find<kWidth, false>(x, dropout, grads.delta, which, first, begin, own_query, key_tile, own_dout,
                                       value_tile);
#pragma unroll
    for (int k = 0; k < kKeys / kPiece; ++k) {
      const uint32_t left[1][4] = {
          {cells.dscores[k][0], cells.dscores[k][1], cells.dscores[k][2], cells.dscores[k][3]}};
      add_weighted_rows<kWidth>(sums, left, key_tile + k * kOwn);
    }
  }
  wait_for_copies<0>();
  __syncwarp();
  put_piece<kWidth>(own_query, sums[0], x.scale, x.scale);
  write_piece<kWidth, true>(own_query, x.head_of(grads.dquery, row, x.queries, x.key_width), first, queries);
}

// Computes dout . out of each query. A row is shared by as many lanes as it has vectors, at most 16.
__global__ void __launch_bounds__(kBlock)
    delta_kernel(const bf16* out, const bf16* dout, float* delta, int64_t rows, int64_t queries, int64_t width) {
  constexpr int kLanes = 16;
  const int64_t n = first_element() / kLanes, column = first_element() % kLanes * kVector;
  float sum = 0.0f;  // row n is query n / rows of head n % rows, in the order of memory
  if (n < rows * queries && column < width) {
    const Vector a = *reinterpret_cast<const Vector*>(out + n * width + column);
    const Vector b = *reinterpret_cast<const Vector*>(dout + n * width + column);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum += low_of(a.pairs[i]) * low_of(b.pairs[i]) + high_of(a.pairs[i]) * high_of(b.pairs[i]);
    }
  }
  for (int other = kLanes / 2; other > 0; other /= 2) sum += from_lane(sum, other);
  if (column == 0 && n < rows * queries) delta[n % rows * queries + n / rows] = sum;
}

__global__ void __launch_bounds__(kBlock) add_elements_kernel(Vector* to, const Vector* from, int64_t count) {
  for (int64_t i = first_element(); i < count; i += element_stride()) to[i] = sum_of(to[i], from[i]);
}

template <int kWidth, int kWarps, bool kWhole, bool kOnce>
void launch_grad(Stream& stream, const Attention& x, const Gradients& grads) {
  using Form = Backward<kWidth, kWarps, kOnce>;
  const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.count, Form::kKeys))), dim3(Form::kThreads),
                     Form::kShared};
  launch(stream, attend_grad_kernel<kWidth, kWarps, kWhole, kOnce>, grid, x, grads);
}

template <int kWidth> void launch_all(Stream& stream, const Attention& x, Gradients grads, const bf16* out) {
  if (x.count <= 32 && x.queries <= 32) return launch_grad<kWidth, 2, true, true>(stream, x, grads);
  if (x.count <= 64 && x.queries <= 64) return launch_grad<kWidth, 4, true, true>(stream, x, grads);
  if (x.count <= 32) return launch_grad<kWidth, 2, true, false>(stream, x, grads);
  if (x.count <= 64) return launch_grad<kWidth, 4, true, false>(stream, x, grads);
  Workspace workspace(stream);
  float* delta = workspace.allocate<float>(x.rows() * x.queries);
  const Grid all = {dim3(to_unsigned(ceil_div(x.rows() * x.queries * 16, kBlock))), dim3(kBlock)};
  launch(stream, delta_kernel, all, out, grads.dout, delta, x.rows(), x.queries, x.key_width);
  grads.delta = delta;
  if (grads.dquery != nullptr) {
    using Form = Backward<kWidth, 4>;
    const Grid grid = {dim3(to_unsigned(x.rows()), to_unsigned(ceil_div(x.queries, Form::kKeys))), dim3(Form::kThreads),
                       4 * Form::kTile * int{sizeof(bf16)}};
    launch(stream, attend_query_grad_kernel<kWidth>, grid, x, grads);
  }
  if (grads.dkeys != nullptr || grads.dvalues != nullptr) launch_grad<kWidth, 4, false, false>(stream, x, grads);
}

}  // namespace

void add_elements(Stream& stream, bf16* to, const bf16* from, int64_t count) {
  const int64_t vectors = count / kVector;
  launch(stream, add_elements_kernel, elements_grid(vectors), reinterpret_cast<Vector*>(to),
         reinterpret_cast<const Vector*>(from), vectors);
}

bool attend_with_mma_grad(Stream& stream, const DotAttentionGradArgs& args) {
  if (!suits_tensor_cores(args) || !is_aligned(args.dout) || !is_aligned(args.dquery) || !is_aligned(args.dkeys) ||
      !is_aligned(args.dvalues)) {
    return false;
  }
  const Attention x(args);
  const Gradients grads = {args.dout.data<bf16>(), nullptr, args.dquery.data<bf16>(), args.dkeys.data<bf16>(),
                           args.dvalues.data<bf16>()};
  with_width(x.key_width,
             [&](auto width) { launch_all<decltype(width)::value>(stream, x, grads, args.out.data<bf16>()); });
  return true;
}

}  // namespace fovea::cuda
