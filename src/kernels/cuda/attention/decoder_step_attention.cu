// Additive attention of a decoder's step in one kernel each way: scores, softmax and the weighted sum of the values;
// back from there to the scores and the query. A block has one query; keys and values are read once. bf16 elements.
#include "kernels/cuda/attention/dot_attention_variants.h"
#include "kernels/cuda/common/device_primitives.h"
#include "kernels/cuda/common/fast_tanh.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/functions.h"
#include "kernels/unfused.h"

namespace fovea::cuda {

namespace {

constexpr int kStepWarps = 16, kStepThreads = kStepWarps * kWarp;
constexpr int64_t kMostKeys = 1024, kMostPacks = 4;  // packs of a query that a lane has

struct StepView {
  const bf16 *query, *keys, *values;
  const float* v;  // of the additive score; null: scale times the dot product
  const int32_t* lengths;
  int64_t batch, heads, queries, count, width, value_width;  // count: keys; widths are of a head
  float scale = 1.0f;
  int64_t seen_first;  // keys that the first query sees, each further one sees one more; count: all see all

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
        seen_first(count) {}
  template <class Args> static StepView of_dot(const Args& args) {
    StepView x(args, {}, args.mask.lengths);
    x.scale = args.scale;
    if (args.mask.causal) x.seen_first = args.mask.offset + 1;
    return x;
  }
};

// One query of one head: where its rows lie.
struct Place {
  int64_t row, t, end;  // row: sentence and head
  const bf16 *query, *keys, *values;
  int64_t key_stride, value_stride, weights, out;

  __device__ explicit Place(const StepView& x) {
    const int64_t b = blockIdx.x % x.batch, h = blockIdx.y;
    t = blockIdx.x / x.batch;
    row = b * x.heads + h;
    end = x.count;
    if (x.lengths != nullptr && x.lengths[b] < end) end = x.lengths[b];
    if (x.seen_first < x.count && x.seen_first + t < end) end = x.seen_first + t;
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

// sums[0..7] of the threads that share a pack of columns but not the rows, added up by the first of them: threads
// `group` of `groups` have rows group, group + groups ...
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
  // All threads of the block must call.
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

// A query with its lane's columns, and its score with a key.
template <bool kDot, int kPacks> struct LanesQuery {
  Pack<bf16> query[kPacks];
  float v[kDot ? 1 : kPacks][kPack];

  __device__ LanesQuery(const StepView& x, const Place& at) {
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

  // All lanes must call; all get it.
  __device__ float score(const StepView& x, const Place& at, int64_t s) const {
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
  __shared__ float scores[kMostKeys];
  const Place at(x);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const LanesQuery<kDot, kPacks> own(x, at);
  for (int64_t s = warp; s < at.end; s += kStepWarps) {
    const float score = own.score(x, at, s);
    if (lane == 0) scores[s] = score;
  }
  __syncthreads();
  // Every warp for itself: there are few keys.
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
    Pack<bf16> made;
#pragma unroll
    for (int k = 0; k < kPack; ++k) store(made.x + k, sums[k]);
    store_pack(out + at.out + column, made);
  }
}

// The weights are given, or, for dot products, computed again from the scores and their lse.
template <bool kDot, int kPacks>
__global__ void __launch_bounds__(kStepThreads)
    attend_grad_kernel(const __grid_constant__ StepView x, const bf16* given, const float* lse, const bf16* dout,
                       bf16* dscore, bf16* dquery, bool accumulate) {
  __shared__ float d[kMostKeys], weights[kMostKeys];  // d: of the weights, then of the scores
  const Place at(x);
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
  Pack<bf16> made = {};
  if (accumulate) made = load_pack(to);
#pragma unroll
  for (int k = 0; k < kPack; ++k) {
    const float factor = kDot ? x.scale : x.v[blockIdx.y * x.width + column + k];
    store(made.x + k, factor * sums[k] + (accumulate ? load(made.x + k) : 0.0f));
  }
  store_pack(to, made);
}

template <class Args> bool suits(const Args& args, const Tensor& given, const Tensor& made) {
  const int64_t width = args.query.dim(2) / args.heads, value_width = args.values.dim(2) / args.heads;
  return args.query.dtype() == DType::kBF16 && width % kPack == 0 && value_width % kPack == 0 &&
         width <= kMostPacks * kWarp * kPack && args.keys.dim(0) <= kMostKeys && is_packed(args.query.raw()) &&
         is_packed(args.keys.raw()) && is_packed(args.values.raw()) && is_packed(given.raw()) && is_packed(made.raw());
}
// Those with narrow heads are better off on the tensor cores.
template <class Args> bool suits_dot(const Args& args, const Tensor& given, const Tensor& made) {
  constexpr int64_t kFew = 8, kNarrow = 128;
  return args.query.dim(0) <= kFew && args.query.dim(2) / args.heads > kNarrow && args.dropout == 0.0f &&
         !args.mask.bias && suits(args, given, made);
}

Grid grid_of(const StepView& x) {
  return {dim3(to_unsigned(x.batch * x.queries), to_unsigned(x.heads)), dim3(kWarp, kStepWarps)};
}

template <class Body> void with_lane_packs(int64_t width, Body&& body) {
  const int64_t packs = ceil_div(width, kWarp * kPack);
  if (packs == 1) return body(std::integral_constant<int, 1>());
  if (packs == 2) return body(std::integral_constant<int, 2>());
  body(std::integral_constant<int, kMostPacks>());
}

template <bool kDot> void attend(Stream& stream, const StepView& x, bf16* weights, float* lse, bf16* out) {
  with_lane_packs(x.width, [&](auto packs) {
    launch(stream, attend_kernel<kDot, decltype(packs)::value>, grid_of(x), x, weights, lse, out);
  });
}

}  // namespace

void additive_attention(Stream& stream, const AdditiveAttentionArgs& args) {
  if (!suits(args, args.out, args.out)) return additive_attention_by_parts(cuda_kernels(), stream, args);
  attend<false>(stream, StepView(args, args.v, args.lengths), args.weights.data<bf16>(), nullptr,
                args.out.data<bf16>());
}

void additive_attention_grad(Stream& stream, const AdditiveAttentionGradArgs& args) {
  if (!suits(args, args.dout, args.dquery)) return additive_attention_grad_by_parts(cuda_kernels(), stream, args);
  const StepView x(args, args.v, args.lengths);
  // The query is not needed in the lanes: one pack keeps the registers few.
  launch(stream, attend_grad_kernel<false, 1>, grid_of(x), x, args.weights.data<bf16>(), nullptr,
         args.dout.data<bf16>(), args.dscore.data<bf16>(), args.dquery.data<bf16>(), false);
}

bool attend_by_steps(Stream& stream, const DotAttentionArgs& args) {
  if (!suits_dot(args, args.out, args.out)) return false;
  attend<true>(stream, StepView::of_dot(args), args.weights.data<bf16>(), args.lse.data<float>(),
               args.out.data<bf16>());
  return true;
}

bool attend_grad_by_steps(Stream& stream, const DotAttentionGradArgs& args) {
  if (args.dkeys || args.dvalues || !suits_dot(args, args.dout, args.dquery)) return false;
  const StepView x = StepView::of_dot(args);
  with_lane_packs(x.width, [&](auto packs) {
    launch(stream, attend_grad_kernel<true, decltype(packs)::value>, grid_of(x), x, nullptr, args.lse.data<float>(),
           args.dout.data<bf16>(), nullptr, args.dquery.data<bf16>(), args.accumulate);
  });
  return true;
}

}  // namespace fovea::cuda
