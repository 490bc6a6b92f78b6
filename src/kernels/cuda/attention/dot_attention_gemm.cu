// Dot-product attention for heads too wide for a tile: two batched GEMMs with a softmax kernel between them, which
// stores all scores. Used for sequences of up to about a thousand positions. Elements are bf16.
#include "kernels/cuda/attention/dot_attention_variants.h"
#include "kernels/cuda/attention/mask.h"
#include "kernels/cuda/common/workspace.h"
#include "kernels/cuda/gemm/gemm.h"

namespace fovea::cuda {

namespace {

constexpr int64_t kMaxNarrow = 128, kMaxCells = int64_t{1} << 28;

// Computes the attention weights and the lse of each row from the scores. Each warp processes one row.
__global__ void weights_kernel(const float* scores, bf16* weights, float* lse, int64_t rows, int64_t heads,
                               int64_t queries, MaskView mask) {
  const int64_t row = team_row();
  if (row >= rows) return;
  const int64_t b = row / queries / heads, h = row / queries % heads, t = row % queries, end = mask.end(b, t);
  scores += row * mask.keys;
  const auto score = [&](int64_t s) { return mask(scores[s], b, h, t, s); };
  float largest = -kInfinity, sum = 0.0f;
  for (int64_t s = threadIdx.x; s < end; s += kWarp) largest = fmaxf(largest, score(s));
  largest = over_warp(largest, Largest());
  const bool any = largest > -kInfinity;
  for (int64_t s = threadIdx.x; any && s < end; s += kWarp) sum += expf(score(s) - largest);
  sum = over_warp(sum, Sum());
  for (int64_t s = threadIdx.x; s < mask.keys; s += kWarp) {
    store(weights + row * mask.keys + s, any && s < end ? expf(score(s) - largest) / sum : 0.0f);
  }
  if (lse != nullptr && threadIdx.x == 0) lse[row] = any ? largest + logf(sum) : -kInfinity;
}

// dscore = weights (dweights - sum of weights dweights). Each warp processes one row.
__global__ void scores_grad_kernel(const bf16* weights, const float* dweights, bf16* dscores, int64_t rows,
                                   int64_t keys) {
  const int64_t row = team_row();
  if (row >= rows) return;
  weights += row * keys;
  dweights += row * keys;
  float delta = 0.0f;
  for (int64_t s = threadIdx.x; s < keys; s += kWarp) delta += load(weights + s) * dweights[s];
  delta = over_warp(delta, Sum());
  for (int64_t s = threadIdx.x; s < keys; s += kWarp) {
    store(dscores + row * keys + s, load(weights + s) * (dweights[s] - delta));
  }
}

struct Sizes {
  int64_t batch, heads, queries, keys, rows;
  template <class Args>
  explicit Sizes(const Args& args)
      : batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        keys(args.keys.dim(0)),
        rows(batch * heads * queries) {}
  int64_t cells() const { return rows * keys; }

  // GEMM factors of the heads of a sequence, and of the score matrices.
  Factor head(const Tensor& x, bool transposed = false) const {
    return {.data = x.raw(),
            .dtype = DType::kBF16,
            .row_stride = batch * x.dim(2),
            .batch_stride = x.dim(2) / heads,
            .transposed = transposed};
  }
  template <class T> Factor cell(const T* x, bool transposed = false) const {
    return {
        .data = x, .dtype = dtype_of<T>, .row_stride = keys, .batch_stride = queries * keys, .transposed = transposed};
  }
  void batched_gemm(Stream& stream, GemmArgs product) const {
    product.batch = batch * heads;
    product.precision = Precision::kBF16;
    gemm(stream, product);
  }
};

template <class Args> bool supports(const Args& args) {
  const Sizes x(args);
  return args.query.dtype() == DType::kBF16 && args.dropout == 0.0f && x.cells() <= kMaxCells && x.cells() > 0 &&
         std::max(args.query.dim(2), args.values.dim(2)) / args.heads > kMaxNarrow;
}

template <class Args>
void compute_weights(Stream& stream, const Args& args, const Sizes& x, float* scores, bf16* weights, float* lse) {
  x.batched_gemm(stream, {.a = x.head(args.query),
                          .b = x.head(args.keys, true),
                          .c = x.cell(scores),
                          .m = x.queries,
                          .n = x.keys,
                          .k = args.query.dim(2) / x.heads,
                          .alpha = args.scale});
  launch(stream, weights_kernel, rows_grid<kWarp>(x.rows), scores, weights, lse, x.rows, x.heads, x.queries,
         MaskView(args.mask, x.keys));
}

}  // namespace

bool attend_with_gemm(Stream& stream, const DotAttentionArgs& args) {
  if (!supports(args)) return false;
  const Sizes x(args);
  Workspace workspace(stream);
  float* scores = workspace.allocate<float>(x.cells());
  bf16* weights = args.weights ? args.weights.data<bf16>() : workspace.allocate<bf16>(x.cells());
  compute_weights(stream, args, x, scores, weights, args.lse.data<float>());
  x.batched_gemm(stream, {.a = x.cell(weights),
                          .b = x.head(args.values),
                          .c = x.head(args.out),
                          .m = x.queries,
                          .n = args.values.dim(2) / x.heads,
                          .k = x.keys});
  return true;
}

bool attend_with_gemm_grad(Stream& stream, const DotAttentionGradArgs& args) {
  if (!supports(args)) return false;
  const Sizes x(args);
  const int64_t key_width = args.query.dim(2) / x.heads, value_width = args.values.dim(2) / x.heads;
  Workspace workspace(stream);
  float* wide = workspace.allocate<float>(x.cells());
  bf16 *weights = workspace.allocate<bf16>(x.cells()), *dscores = workspace.allocate<bf16>(x.cells());
  compute_weights(stream, args, x, wide, weights, nullptr);
  x.batched_gemm(stream, {.a = x.head(args.dout),
                          .b = x.head(args.values, true),
                          .c = x.cell(wide),
                          .m = x.queries,
                          .n = x.keys,
                          .k = value_width});
  launch(stream, scores_grad_kernel, rows_grid<kWarp>(x.rows), weights, wide, dscores, x.rows, x.keys);
  const auto add = [&](const Factor& a, const Factor& b, const Tensor& c, int64_t m, int64_t n, int64_t k,
                       float alpha) {
    if (!c) return;
    x.batched_gemm(
        stream,
        {.a = a, .b = b, .c = x.head(c), .m = m, .n = n, .k = k, .alpha = alpha, .accumulate = args.accumulate});
  };
  add(x.cell(dscores), x.head(args.keys), args.dquery, x.queries, key_width, x.keys, args.scale);
  add(x.cell(dscores, true), x.head(args.query), args.dkeys, x.keys, key_width, x.queries, args.scale);
  add(x.cell(weights, true), x.head(args.dout), args.dvalues, x.keys, value_width, x.queries, 1.0f);
  return true;
}

}  // namespace fovea::cuda
