// Attention for the few queries of a decoder step in one fused kernel: scores (additive or dot product), softmax and
// the weighted sum of the values. The gradient kernel computes the gradients of the scores and the query. Each block
// has one query; keys and values are read once. Elements are bf16.
#include "kernels/cuda/attention/dot_attention_variants.h"
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/common/fast_tanh.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/functions.h"
#include "kernels/unfused.h"

namespace fovea::cuda {

namespace {

constexpr int kStepWarps = 16, kStepThreads = kStepWarps * kWarp;
constexpr int64_t kMaxKeys = 1024, kMaxPacks = 4;  // packs of a query per lane

struct StepView {
  const bf16 *query, *keys, *values;
  const float* v;  // of the additive score; null for the scaled dot product
  const int32_t* lengths;
  int64_t batch, heads, queries, count, width,
      value_width;  // `count` is the number of keys; the widths are those of a head
  float scale = 1.0f;
  int64_t first_visible;  // keys visible to the first query, one more for each further query; `count` if not causal

  template <class Args>
  StepView(const Args& args, const Tensor& of_score, const Tensor& of_lengths)
      : query(args.query.template data<bf16>()),
        keys(args.keys.template data<bf16>()),
        values(args.values.template data<bf16>()),
        v(of_score.data<float>()),
        lengths(of_lengths.data<int32_t>()),
        batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        count(args.keys.dim(0)),
        width(args.query.dim(2) / args.heads),
        value_width(args.values.dim(2) / args.heads),
        first_visible(count) {}
  template <class Args> static StepView of_dot(const Args& args) {
    StepView x(args, {}, args.mask.lengths);
    x.scale = args.scale;
    if (args.mask.causal) x.first_visible = args.mask.offset + 1;
    return x;
  }
};

// The query and head of this block.
struct BlockQuery {
  int64_t row, t, end;  // `row` is the index of sentence and head, `end` the number of visible keys
  const bf16 *query, *keys, *values;
  int64_t key_stride, value_stride, weights, out;

  __device__ explicit BlockQuery(const StepView& x) {
    const int64_t b = blockIdx.x % x.batch, h = blockIdx.y;
    t = blockIdx.x / x.batch;
    row = b * x.heads + h;
    end = x.count;
    if (x.lengths != nullptr && x.lengths[b] < end) end = x.lengths[b];
    if (x.first_visible < x.count && x.first_visible + t < end) end = x.first_visible + t;
    if (end < 0) end = 0;
    key_stride = x.batch * x.heads * x.width;
    value_stride = x.batch * x.heads * x.value_width;
    query = x.query + t * key_stride + row * x.width;
    keys = x.keys + row * x.width;
    values = x.values + row * x.value_width;
    weights = (row * x.queries + t) * x.count;
    out = t * value_stride + row * x.value_width;
  }
};

__device__ int thread_of_block() { return static_cast<int>(threadIdx.y) * kWarp + static_cast<int>(threadIdx.x); }

// Distributes the rows of a matrix to groups of threads: group `group` has rows group, group + groups ..., and each
// thread of it one pack of columns. gather() adds up the sums of all groups in the first one.
struct Shares {
  int64_t packs;
  int groups, group;
  int64_t pack;

  __device__ explicit Shares(int64_t width) {
    packs = width / kPack;
    groups = packs >= kStepThreads ? 1 : static_cast<int>(kStepThreads / packs);
    group = packs >= kStepThreads ? 0 : static_cast<int>(thread_of_block() / packs);
    pack = packs >= kStepThreads ? thread_of_block() : thread_of_block() % packs;
  }
  __device__ bool takes_part() const { return group < groups && pack < packs; }
  // All threads of the block must call it.
  __device__ void gather(float (&sums)[kPack]) const {
    __shared__ float parts[kStepThreads][kPack];
    __syncthreads();
    for (int k = 0; k < kPack; ++k) parts[thread_of_block()][k] = sums[k];
    __syncthreads();
    if (group != 0) return;
    for (int g = 1; g < groups; ++g) {
      for (int k = 0; k < kPack; ++k) sums[k] += parts[g * packs + pack][k];
    }
  }
};

// The columns of a query that a lane holds in registers, and the score of the query with a key.
template <bool kDot, int kPacks> struct LanesQuery {
  Pack<bf16> query[kPacks];
  float v[kDot ? 1 : kPacks][kPack];

  __device__ LanesQuery(const StepView& x, const BlockQuery& at) {
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      query[p] = {};
      if (column(p) >= x.width) continue;
      query[p] = load_pack(at.query + column(p));
      if constexpr (!kDot) {
#pragma unroll
        for (int k = 0; k < kPack; ++k) v[p][k] = x.v[blockIdx.y * x.width + column(p) + k];
      }
    }
  }
  __device__ static int64_t column(int p) { return (int64_t{p} * kWarp + threadIdx.x) * kPack; }

  // All lanes must call it, and all get the result.
  __device__ float score(const StepView& x, const BlockQuery& at, int64_t s) const {
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      if (column(p) >= x.width) continue;
      const Pack<bf16> key = load_pack(at.keys + s * at.key_stride + column(p));
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        if constexpr (kDot) {
          sum += load(query[p].x + k) * load(key.x + k);
        } else {
          sum += v[p][k] * fast_tanh(load(query[p].x + k) + load(key.x + k));
        }
      }
    }
    sum = over_warp(sum, Sum());
    return kDot ? x.scale * sum : sum;
  }
};

template <bool kDot, int kPacks>
__global__ void __launch_bounds__(kStepThreads)
    attend_kernel(const __grid_constant__ StepView x, bf16* weights, float* lse, bf16* out) {
  __shared__ float scores[kMaxKeys];
  const BlockQuery at(x);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const LanesQuery<kDot, kPacks> own(x, at);
  for (int64_t s = warp; s < at.end; s += kStepWarps) {
    const float score = own.score(x, at, s);
    if (lane == 0) scores[s] = score;
  }
  __syncthreads();
  // Each warp computes the softmax denominator redundantly, because there are few keys.
  float largest = -kInfinity, total = 0.0f;
  for (int64_t s = lane; s < at.end; s += kWarp) largest = fmaxf(largest, scores[s]);
  largest = over_warp(largest, Largest());
  for (int64_t s = lane; s < at.end; s += kWarp) total += expf(scores[s] - largest);
  total = over_warp(total, Sum());
  if (lse != nullptr && thread_of_block() == 0) {
    lse[at.row * x.queries + at.t] = at.end == 0 ? -kInfinity : largest + logf(total);
  }
  __syncthreads();
  for (int64_t s = thread_of_block(); s < x.count; s += kStepThreads) {
    bf16 weight = {};
    if (s < at.end) {
      store(&weight, expf(scores[s] - largest) / total);
      scores[s] = load(&weight);
    }
    if (weights != nullptr) weights[at.weights + s] = weight;
  }
  __syncthreads();
  const Shares shares(x.value_width);
  for (int64_t first = 0; first < shares.packs; first += kStepThreads) {
    float sums[kPack] = {};
    const int64_t column = (first + shares.pack) * kPack;
    const bool inside = shares.takes_part() && column < x.value_width;
    if (inside) {
#pragma unroll 4
      for (int64_t s = shares.group; s < at.end; s += shares.groups) {
        const Pack<bf16> value = load_pack(at.values + s * at.value_stride + column);
        const float weight = scores[s];
#pragma unroll
        for (int k = 0; k < kPack; ++k) sums[k] += weight * load(value.x + k);
      }
    }
    shares.gather(sums);
    if (!inside || shares.group != 0) continue;
    Pack<bf16> result;
#pragma unroll
    for (int k = 0; k < kPack; ++k) store(result.x + k, sums[k]);
    store_pack(out + at.out + column, result);
  }
}

// The weights are given or, for dot products, recomputed from the scores and their lse.
template <bool kDot, int kPacks>
__global__ void __launch_bounds__(kStepThreads)
    attend_grad_kernel(const __grid_constant__ StepView x, const bf16* given, const float* lse, const bf16* dout,
                       bf16* dscore, bf16* dquery, bool accumulate) {
  __shared__ float d[kMaxKeys], weights[kMaxKeys];  // `d` contains the gradients of the weights, then of the scores
  const BlockQuery at(x);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const LanesQuery<kDot, kPacks> own(x, at);
  for (int64_t s = warp; s < at.end; s += kStepWarps) {
    float sum = 0.0f, weight = 0.0f;
    for (int64_t column = int64_t{lane} * kPack; column < x.value_width; column += kWarp * kPack) {
      const Pack<bf16> value = load_pack(at.values + s * at.value_stride + column);
      const Pack<bf16> from = load_pack(dout + at.out + column);
#pragma unroll
      for (int k = 0; k < kPack; ++k) sum += load(from.x + k) * load(value.x + k);
    }
    sum = over_warp(sum, Sum());
    if constexpr (kDot) {
      weight = expf(own.score(x, at, s) - lse[at.row * x.queries + at.t]);
    } else {
      weight = load(given + at.weights + s);
    }
    if (lane == 0) {
      d[s] = sum;
      weights[s] = weight;
    }
  }
  __syncthreads();
  float along = 0.0f;
  for (int64_t s = lane; s < at.end; s += kWarp) along += weights[s] * d[s];
  along = over_warp(along, Sum());
  __syncthreads();
  for (int64_t s = thread_of_block(); s < x.count; s += kStepThreads) {
    bf16 value = {};
    if (s < at.end) {
      store(&value, weights[s] * (d[s] - along));
      d[s] = load(&value);
    }
    if (dscore != nullptr) dscore[at.weights + s] = value;
  }
  if (dquery == nullptr) return;
  __syncthreads();
  const Shares shares(x.width);
  const int64_t column = shares.pack * kPack;
  const bool inside = shares.takes_part() && column < x.width;
  float sums[kPack] = {};
  if (inside) {
    const Pack<bf16> query = load_pack(at.query + column);
#pragma unroll 4
    for (int64_t s = shares.group; s < at.end; s += shares.groups) {
      const Pack<bf16> key = load_pack(at.keys + s * at.key_stride + column);
      const float weight = d[s];
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        if constexpr (kDot) {
          sums[k] += weight * load(key.x + k);
        } else {
          const float z = fast_tanh(load(query.x + k) + load(key.x + k));
          sums[k] += weight * (1.0f - z * z);
        }
      }
    }
  }
  shares.gather(sums);
  if (!inside || shares.group != 0) return;
  bf16* to = dquery + at.t * at.key_stride + at.row * x.width + column;
  Pack<bf16> result = {};
  if (accumulate) result = load_pack(to);
#pragma unroll
  for (int k = 0; k < kPack; ++k) {
    const float factor = kDot ? x.scale : x.v[blockIdx.y * x.width + column + k];
    store(result.x + k, factor * sums[k] + (accumulate ? load(result.x + k) : 0.0f));
  }
  store_pack(to, result);
}

template <class Args> bool supports(const Args& args, const Tensor& input, const Tensor& output) {
  const int64_t width = args.query.dim(2) / args.heads, value_width = args.values.dim(2) / args.heads;
  return args.query.dtype() == DType::kBF16 && width % kPack == 0 && value_width % kPack == 0 &&
         width <= kMaxPacks * kWarp * kPack && args.keys.dim(0) <= kMaxKeys && is_packed(args.query.raw()) &&
         is_packed(args.keys.raw()) && is_packed(args.values.raw()) && is_packed(input.raw()) &&
         is_packed(output.raw());
}
// The tensor-core kernels are faster for narrow heads.
template <class Args> bool supports_dot(const Args& args, const Tensor& input, const Tensor& output) {
  constexpr int64_t kMaxQueries = 8, kMaxNarrow = 128;
  return args.query.dim(0) <= kMaxQueries && args.query.dim(2) / args.heads > kMaxNarrow && args.dropout == 0.0f &&
         !args.mask.bias && supports(args, input, output);
}

Grid grid_of(const StepView& x) {
  return {dim3(to_unsigned(x.batch * x.queries), to_unsigned(x.heads)), dim3(kWarp, kStepWarps)};
}

template <class Body> void with_lane_packs(int64_t width, Body&& body) {
  const int64_t packs = ceil_div(width, kWarp * kPack);
  if (packs == 1) return body(std::integral_constant<int, 1>());
  if (packs == 2) return body(std::integral_constant<int, 2>());
  body(std::integral_constant<int, kMaxPacks>());
}

template <bool kDot> void attend(Stream& stream, const StepView& x, bf16* weights, float* lse, bf16* out) {
  with_lane_packs(x.width, [&](auto packs) {
    launch(stream, attend_kernel<kDot, decltype(packs)::value>, grid_of(x), x, weights, lse, out);
  });
}

}  // namespace

void additive_attention(Stream& stream, const AdditiveAttentionArgs& args) {
  if (!supports(args, args.out, args.out)) return additive_attention_unfused(cuda_kernels(), stream, args);
  attend<false>(stream, StepView(args, args.v, args.lengths), args.weights.data<bf16>(), nullptr,
                args.out.data<bf16>());
}

void additive_attention_grad(Stream& stream, const AdditiveAttentionGradArgs& args) {
  if (!supports(args, args.dout, args.dquery)) return additive_attention_grad_unfused(cuda_kernels(), stream, args);
  const StepView x(args, args.v, args.lengths);
  // The additive gradient does not use the query in registers, so one pack saves registers.
  launch(stream, attend_grad_kernel<false, 1>, grid_of(x), x, args.weights.data<bf16>(), nullptr,
         args.dout.data<bf16>(), args.dscore.data<bf16>(), args.dquery.data<bf16>(), false);
}

bool attend_decoder_step(Stream& stream, const DotAttentionArgs& args) {
  if (!supports_dot(args, args.out, args.out)) return false;
  attend<true>(stream, StepView::of_dot(args), args.weights.data<bf16>(), args.lse.data<float>(),
               args.out.data<bf16>());
  return true;
}

bool attend_decoder_step_grad(Stream& stream, const DotAttentionGradArgs& args) {
  if (args.dkeys || args.dvalues || !supports_dot(args, args.dout, args.dquery)) return false;
  const StepView x = StepView::of_dot(args);
  with_lane_packs(x.width, [&](auto packs) {
    launch(stream, attend_grad_kernel<true, decltype(packs)::value>, grid_of(x), x, nullptr, args.lse.data<float>(),
           args.dout.data<bf16>(), nullptr, args.dquery.data<bf16>(), args.accumulate);
  });
  return true;
}

}  // namespace fovea::cuda
