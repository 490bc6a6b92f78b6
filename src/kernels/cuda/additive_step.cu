// Additive attention of a decoder's step in one kernel each way: scores, softmax and the weighted sum of the values;
// back from there to the scores and the query. A block has one query; keys and values are read once. bf16 elements.
#include "kernels/by_parts.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/functions.h"
#include "kernels/cuda/tanh.h"

namespace fovea::cuda {

namespace {

constexpr int kStepWarps = 16, kStepThreads = kStepWarps * kWarp;
constexpr int64_t kMostKeys = 1024, kMostPacks = 4;  // packs of a query that a lane has

struct StepView {
  const bf16 *query, *keys, *values;
  const float* v;
  const int32_t* lengths;
  int64_t batch, heads, queries, count, width, value_width;  // count: keys; widths are of a head

  template <class Args>
  explicit StepView(const Args& args)
      : query(args.query.template data<bf16>()),
        keys(args.keys.template data<bf16>()),
        values(args.values.template data<bf16>()),
        v(args.v.template data<float>()),
        lengths(args.lengths.template data<int32_t>()),
        batch(args.query.dim(1)),
        heads(args.heads),
        queries(args.query.dim(0)),
        count(args.keys.dim(0)),
        width(args.query.dim(2) / args.heads),
        value_width(args.values.dim(2) / args.heads) {}
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
    end = x.lengths == nullptr || x.lengths[b] > x.count ? x.count : x.lengths[b] > 0 ? x.lengths[b] : 0;
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

template <int kPacks>
__global__ void __launch_bounds__(kStepThreads)
    attend_kernel(const __grid_constant__ StepView x, bf16* weights, bf16* out) {
  __shared__ float scores[kMostKeys];
  const Place at(x);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  Pack<bf16> query[kPacks];
  float v[kPacks][kPack] = {};
#pragma unroll
  for (int p = 0; p < kPacks; ++p) {
    const int64_t column = (int64_t{p} * kWarp + lane) * kPack;
    query[p] = {};
    if (column >= x.width) continue;
    query[p] = load_pack(at.query + column);
    const float* from = x.v + blockIdx.y * x.width + column;
#pragma unroll
    for (int k = 0; k < kPack; ++k) v[p][k] = from[k];
  }
  for (int64_t s = warp; s < at.end; s += kStepWarps) {
    float sum = 0.0f;
#pragma unroll
    for (int p = 0; p < kPacks; ++p) {
      const int64_t column = (int64_t{p} * kWarp + lane) * kPack;
      if (column >= x.width) continue;
      const Pack<bf16> key = load_pack(at.keys + s * at.key_stride + column);
#pragma unroll
      for (int k = 0; k < kPack; ++k) sum += v[p][k] * fast_tanh(load(query[p].x + k) + load(key.x + k));
    }
    sum = over_warp(sum, Sum());
    if (lane == 0) scores[s] = sum;
  }
  __syncthreads();
  // Every warp for itself: there are few keys.
  float largest = -kInfinity, total = 0.0f;
  for (int64_t s = lane; s < at.end; s += kWarp) largest = fmaxf(largest, scores[s]);
  largest = over_warp(largest, Largest());
  for (int64_t s = lane; s < at.end; s += kWarp) total += expf(scores[s] - largest);
  total = over_warp(total, Sum());
  __syncthreads();
  for (int64_t s = thread_of_block(); s < x.count; s += kStepThreads) {
    bf16 weight = {};
    if (s < at.end) {
      store(&weight, expf(scores[s] - largest) / total);
      scores[s] = load(&weight);
    }
    weights[at.weights + s] = weight;
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

__global__ void __launch_bounds__(kStepThreads)
    attend_grad_kernel(const __grid_constant__ StepView x, const bf16* weights, const bf16* dout, bf16* dscore,
                       bf16* dquery) {
  __shared__ float d[kMostKeys];  // dweights, then dscore
  const Place at(x);
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  for (int64_t s = warp; s < at.end; s += kStepWarps) {
    float sum = 0.0f;
    for (int64_t column = int64_t{lane} * kPack; column < x.value_width; column += kWarp * kPack) {
      const Pack<bf16> value = load_pack(at.values + s * at.value_stride + column);
      const Pack<bf16> from = load_pack(dout + at.out + column);
#pragma unroll
      for (int k = 0; k < kPack; ++k) sum += load(from.x + k) * load(value.x + k);
    }
    sum = over_warp(sum, Sum());
    if (lane == 0) d[s] = sum;
  }
  __syncthreads();
  float along = 0.0f;
  for (int64_t s = lane; s < at.end; s += kWarp) along += load(weights + at.weights + s) * d[s];
  along = over_warp(along, Sum());
  __syncthreads();
  for (int64_t s = thread_of_block(); s < x.count; s += kStepThreads) {
    bf16 value = {};
    if (s < at.end) {
      store(&value, load(weights + at.weights + s) * (d[s] - along));
      d[s] = load(&value);
    }
    dscore[at.weights + s] = value;
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
        const float z = fast_tanh(load(query.x + k) + load(key.x + k));
        sums[k] += weight * (1.0f - z * z);
      }
    }
  }
  shares.gather(sums);
  if (!inside || shares.group != 0) return;
  Pack<bf16> made;
#pragma unroll
  for (int k = 0; k < kPack; ++k) store(made.x + k, x.v[blockIdx.y * x.width + column + k] * sums[k]);
  store_pack(dquery + at.t * at.key_stride + at.row * x.width + column, made);
}

template <class Args> bool suits(const Args& args, const Tensor& given, const Tensor& made) {
  const int64_t width = args.query.dim(2) / args.heads, value_width = args.values.dim(2) / args.heads;
  return args.query.dtype() == DType::kBF16 && width % kPack == 0 && value_width % kPack == 0 &&
         width <= kMostPacks * kWarp * kPack && args.keys.dim(0) <= kMostKeys && is_packed(args.query.raw()) &&
         is_packed(args.keys.raw()) && is_packed(args.values.raw()) && is_packed(given.raw()) && is_packed(made.raw());
}

Grid grid_of(const StepView& x) {
  return {dim3(to_unsigned(x.batch * x.queries), to_unsigned(x.heads)), dim3(kWarp, kStepWarps)};
}

}  // namespace

void additive_attention(Stream& stream, const AdditiveAttentionArgs& args) {
  if (!suits(args, args.out, args.out)) return additive_attention_by_parts(cuda_kernels(), stream, args);
  const StepView x(args);
  const int64_t packs = ceil_div(x.width, kWarp * kPack);
  launch(stream,
         packs == 1   ? attend_kernel<1>
         : packs == 2 ? attend_kernel<2>
                      : attend_kernel<kMostPacks>,
         grid_of(x), x, args.weights.data<bf16>(), args.out.data<bf16>());
}

void additive_attention_grad(Stream& stream, const AdditiveAttentionGradArgs& args) {
  if (!suits(args, args.dout, args.dquery)) return additive_attention_grad_by_parts(cuda_kernels(), stream, args);
  const StepView x(args);
  launch(stream, attend_grad_kernel, grid_of(x), x, args.weights.data<bf16>(), args.dout.data<bf16>(),
         args.dscore.data<bf16>(), args.dquery.data<bf16>());
}

}  // namespace fovea::cuda
