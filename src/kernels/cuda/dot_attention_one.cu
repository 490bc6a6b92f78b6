// Scaled dot-product attention of one query, as decoding asks it step by step: what counts is that every key and value
// is read once, 16 bytes at a time and many at once. A block has one head; the lanes of a group share a key's columns.
#include "kernels/cuda/dot_attention.h"
#include "kernels/cuda/dot_attention_ways.h"

namespace fovea::cuda {

namespace {

constexpr int kWarps = 4, kThreads = kWarps * kWarp;
constexpr int64_t kMostKeys = 8192;  // their scores are kept in shared memory
constexpr int kAtOnce = 4;           // keys a group reads before it uses the first

template <class T> constexpr int kColumns = 16 / int{sizeof(T)};  // of a lane

template <class T> struct alignas(16) Columns { T at[kColumns<T>]; };

// The lane's columns of row s; zeros where there are none.
template <class T> __device__ Columns<T> columns_of(const Head<const T>& x, int s, int column, bool inside) {
  if (inside && column < x.width) return *reinterpret_cast<const Columns<T>*>(x.at(s, column));
  return {};
}

// What all threads of the block have, combined in the same order by each.
template <class Op> __device__ float over_block(float x, Op op, float (&parts)[kWarps]) {
  x = over_warp(x, op);
  __syncthreads();  // what was read from it last time has been read
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
  __syncthreads();
  x = parts[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) x = op(x, parts[i]);
  return x;
}

// kGroup lanes have a key; key s is read by group s % kGroups.
template <int kGroup, class T> struct Reader {
  static constexpr int kGroups = kThreads / kGroup, kRound = kGroups * kAtOnce;
  Columns<T> read[kAtOnce];

  __device__ static int group() { return static_cast<int>(threadIdx.x) / kGroup; }
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kGroup * kColumns<T>; }
  __device__ static int key(int begin, int i) { return begin + i * kGroups + group(); }
  __device__ void operator()(const Head<const T>& x, int begin, int end) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) read[i] = columns_of(x, key(begin, i), column(), key(begin, i) < end);
  }
};

// The masked scores of all keys below `end`, and the thread's largest.
template <int kGroup, class T>
__device__ float find_scores(float* scores, const DotAttention<T>& x, int64_t row, int end) {
  using Keys = Reader<kGroup, T>;
  const Head<const T> keys = x.head_of(x.keys, row, x.count, x.key_width);
  const Columns<T> query = columns_of(x.head_of(x.query, row, x.queries, x.key_width), 0, Keys::column(), true);
  float largest = -kInfinity;
  for (int begin = 0; begin < end; begin += Keys::kRound) {
    Keys reader;
    reader(keys, begin, end);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      float product = 0.0f;
#pragma unroll
      for (int c = 0; c < kColumns<T>; ++c) product += load(query.at + c) * load(reader.read[i].at + c);
#pragma unroll
      for (int other = kGroup / 2; other > 0; other /= 2) product += from_lane(product, other);
      const int s = Keys::key(begin, i);
      if (s >= end) continue;
      const float score = x.score(product, row, 0, s);
      largest = fmaxf(largest, score);
      if (Keys::column() == 0) scores[s] = score;
    }
  }
  return largest;
}

// sums += the group's share of weights times values.
template <int kGroup, class T>
__device__ void add_values(float (&sums)[kColumns<T>], const float* weights, const DotAttention<T>& x, int64_t row,
                           int end) {
  using Values = Reader<kGroup, T>;
  const Head<const T> values = x.head_of(x.values, row, x.count, x.value_width);
  for (int begin = 0; begin < end; begin += Values::kRound) {
    Values reader;
    reader(values, begin, end);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = Values::key(begin, i) < end ? weights[Values::key(begin, i)] : 0.0f;
#pragma unroll
      for (int c = 0; c < kColumns<T>; ++c) sums[c] += weight * load(reader.read[i].at + c);
    }
  }
}

template <int kGroup, class T>
__global__ void __launch_bounds__(kThreads)
    attend_one_kernel(const __grid_constant__ DotAttention<T> x, T* out, float* lse, T* weights) {
  __shared__ float parts[kWarps], sums_of_warps[kWarps][kWarp * kColumns<T>];
  float* scores = shared_memory<float>();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / kWarp, lane = thread % kWarp;
  const int64_t row = blockIdx.x;
  const int end = static_cast<int>(x.keys_seen(row, 1));
  const uint64_t stream = x.random.stream();
  const float largest = over_block(find_scores<kGroup>(scores, x, row, end), Largest(), parts);
  float total = 0.0f;
  for (int s = thread; s < end; s += kThreads) {
    scores[s] = scores[s] == -kInfinity ? 0.0f : expf(scores[s] - largest);
    total += scores[s];
  }
  total = over_block(total, Sum(), parts);
  const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
  if (thread == 0) lse[row] = total > 0.0f ? largest + logf(total) : -kInfinity;
  for (int s = thread; s < x.count; s += kThreads) {
    const float weight = s < end ? scores[s] * inverse : 0.0f;
    if (weights != nullptr) store(weights + row * x.count + s, weight);
    if (s < end) scores[s] = weight * x.factor(stream, row, 0, s);
  }
  __syncthreads();
  float sums[kColumns<T>] = {};
  add_values<kGroup>(sums, scores, x, row, end);
#pragma unroll
  for (int c = 0; c < kColumns<T>; ++c) {
#pragma unroll
    for (int other = kWarp / 2; other >= kGroup; other /= 2) sums[c] += from_lane(sums[c], other);
    if (lane < kGroup) sums_of_warps[warp][lane * kColumns<T> + c] = sums[c];
  }
  __syncthreads();
  for (int i = thread; i < x.value_width; i += kThreads) {
    float sum = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += sums_of_warps[w][i];
    store(x.head_of(out, row, x.queries, x.value_width).at(0, i), sum);
  }
}

// Calls body with how many lanes a key has, as an integral constant.
template <class Body> void with_group(int64_t vectors, Body&& body) {
  if (vectors <= 4) return body(std::integral_constant<int, 4>());
  if (vectors <= 8) return body(std::integral_constant<int, 8>());
  if (vectors <= 16) return body(std::integral_constant<int, 16>());
  body(std::integral_constant<int, 32>());
}

bool is_aligned(const Tensor& x) { return reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0; }

}  // namespace

bool attend_one(Stream& stream, const DotAttentionArgs& args) {
  if (args.query.dim(0) != 1 || args.keys.dim(0) > kMostKeys || !is_aligned(args.query) || !is_aligned(args.keys) ||
      !is_aligned(args.values)) {
    return false;
  }
  bool done = false;
  with_type_of(args.query, [&]<class T>(T) {
    const DotAttention<T> x(args);
    const int64_t widest = std::max(x.key_width, x.value_width);
    if (x.key_width % kColumns<T> != 0 || x.value_width % kColumns<T> != 0 || widest > kWarp * kColumns<T>) return;
    with_group(widest / kColumns<T>, [&](auto group) {
      const Grid grid = {dim3(to_unsigned(x.rows())), dim3(kThreads), static_cast<int>(x.count) * int{sizeof(float)}};
      launch(stream, attend_one_kernel<decltype(group)::value, T>, grid, x, args.out.data<T>(), args.lse.data<float>(),
             args.weights.data<T>());
    });
    done = true;
  });
  return done;
}

}  // namespace fovea::cuda
