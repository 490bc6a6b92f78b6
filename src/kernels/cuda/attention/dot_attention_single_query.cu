// Scaled dot-product attention of one query, for decoding. The kernels are bound by memory bandwidth: each key and
// value is read once, 16 bytes at a time, with many loads in flight. A head is processed by a block or, with few keys,
// by a warp; the lanes of a group share the columns of a key.
#include "kernels/cuda/attention/dot_attention_tiles.h"
#include "kernels/cuda/attention/dot_attention_variants.h"

namespace fovea::cuda {

namespace {

constexpr int kWarps = 4, kThreads = kWarps * kWarp;
constexpr int64_t kMaxKeys = 8192;  // the scores are stored in shared memory
constexpr int kUnroll = 4;          // keys that a group loads before it uses the first

template <class T> constexpr int kColumns = 16 / int{sizeof(T)};  // columns per lane

template <class T> struct alignas(16) Columns { T at[kColumns<T>]; };

// Loads the columns of this lane in row s; they are zero beyond the width.
template <class T> __device__ Columns<T> columns_of(const Head<const T>& x, int s, int column, bool inside) {
  if (inside && column < x.width) return *reinterpret_cast<const Columns<T>*>(x.at(s, column));
  return {};
}

// Reduces a value over all threads of the block, in the same order in each thread.
template <class Op> __device__ float over_block(float x, Op op, float (&parts)[kWarps]) {
  x = over_warp(x, op);
  __syncthreads();  // the reads of the previous call are finished
  if (threadIdx.x % kWarp == 0) parts[threadIdx.x / kWarp] = x;
  __syncthreads();
  x = parts[0];
#pragma unroll
  for (int i = 1; i < kWarps; ++i) x = op(x, parts[i]);
  return x;
}

// kGroup lanes share a key; group s % kGroups reads key s.
template <int kGroup, class T> struct Reader {
  static constexpr int kGroups = kThreads / kGroup, kRound = kGroups * kUnroll;
  Columns<T> read[kUnroll];

  __device__ static int group() { return static_cast<int>(threadIdx.x) / kGroup; }
  __device__ static int column() { return static_cast<int>(threadIdx.x) % kGroup * kColumns<T>; }
  __device__ static int key(int begin, int i) { return begin + i * kGroups + group(); }
  __device__ void operator()(const Head<const T>& x, int begin, int end) {
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) read[i] = columns_of(x, key(begin, i), column(), key(begin, i) < end);
  }
};

// Computes the masked scores of all keys before `end` and returns the maximum of this thread.
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
    for (int i = 0; i < kUnroll; ++i) {
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

// Adds the group's part of weights times values to sums.
template <int kGroup, class T>
__device__ void add_values(float (&sums)[kColumns<T>], const float* weights, const DotAttention<T>& x, int64_t row,
                           int end) {
  using Values = Reader<kGroup, T>;
  const Head<const T> values = x.head_of(x.values, row, x.count, x.value_width);
  for (int begin = 0; begin < end; begin += Values::kRound) {
    Values reader;
    reader(values, begin, end);
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
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
  const int end = static_cast<int>(x.visible_keys(row, 1));
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

constexpr int64_t kFewKeys = 64;
constexpr int kRoundOfWarp = 8;  // keys and values that a group of a warp loads before it uses the first

// The columns of a lane as loaded, in four registers, with access to element i.
struct alignas(16) Raw {
  uint32_t words[4];
  template <class T> __device__ float at(int i) const {
    uint32_t word = words[i / (kColumns<T> / 4)];
    if constexpr (sizeof(T) == 2) word = i % 2 == 0 ? word << 16 : word & 0xFFFF0000u;
    float x;
    memcpy(&x, &word, sizeof x);
    return x;
  }
};

// Each warp processes one head, without synchronisation. The running sums are rescaled whenever a larger score occurs.
// Offsets fit into 32 bits (see attend_single_query).
template <int kGroup, class T>
__global__ void __launch_bounds__(kThreads)
    attend_few_kernel(const __grid_constant__ DotAttention<T> x, T* out, float* lse) {
  constexpr int kGroups = kWarp / kGroup;
  const auto rows = static_cast<uint32_t>(x.batch * x.heads), heads = static_cast<uint32_t>(x.heads);
  const auto row = static_cast<uint32_t>(team_row());
  if (row >= rows) return;
  const uint32_t b = row / heads, h = row % heads;
  const int lane = static_cast<int>(threadIdx.x), group = lane / kGroup, column = lane % kGroup * kColumns<T>;
  const auto key_width = static_cast<uint32_t>(x.key_width), value_width = static_cast<uint32_t>(x.value_width);
  const int end = static_cast<int>(x.mask.end(b, 0));
  const auto read = [&](const T* from, uint32_t width, int s, bool inside) {
    const uint32_t at = (static_cast<uint32_t>(s) * rows + row) * width + static_cast<uint32_t>(column);
    if (inside && static_cast<uint32_t>(column) < width) return *reinterpret_cast<const Raw*>(from + at);
    return Raw{};
  };
  const Raw query = read(x.query, key_width, 0, true);
  float largest = -kInfinity, total = 0.0f, sums[kColumns<T>] = {};
  for (int begin = 0; begin < end; begin += kRoundOfWarp * kGroups) {
    Raw key[kRoundOfWarp], value[kRoundOfWarp];
#pragma unroll
    for (int i = 0; i < kRoundOfWarp; ++i) {
      const int s = begin + i * kGroups + group;
      key[i] = read(x.keys, key_width, s, s < end);
    }
#pragma unroll
    for (int i = 0; i < kRoundOfWarp; ++i) {
      const int s = begin + i * kGroups + group;
      value[i] = read(x.values, value_width, s, s < end);
    }
    float scores[kRoundOfWarp], running_max = largest;
#pragma unroll
    for (int i = 0; i < kRoundOfWarp; ++i) {
      const int s = begin + i * kGroups + group;
      float product = 0.0f;
#pragma unroll
      for (int c = 0; c < kColumns<T>; ++c) product += query.template at<T>(c) * key[i].template at<T>(c);
#pragma unroll
      for (int other = kGroup / 2; other > 0; other /= 2) product += from_lane(product, other);
      scores[i] = s < end ? x.mask(x.scale * product, b, h, 0, s) : -kInfinity;
      running_max = fmaxf(running_max, scores[i]);
    }
#pragma unroll
    for (int other = kWarp / 2; other >= kGroup; other /= 2)
      running_max = fmaxf(running_max, from_lane(running_max, other));
    if (running_max == -kInfinity) continue;  // all of these keys are masked
    const float smaller = __expf(largest - running_max);
    largest = running_max;
    total *= smaller;
#pragma unroll
    for (int c = 0; c < kColumns<T>; ++c) sums[c] *= smaller;
#pragma unroll
    for (int i = 0; i < kRoundOfWarp; ++i) {
      const float weight = __expf(scores[i] - largest);
      if (weight == 0.0f) continue;  // the value of a masked key may be NaN
      total += weight;
#pragma unroll
      for (int c = 0; c < kColumns<T>; ++c) sums[c] += weight * value[i].template at<T>(c);
    }
  }
#pragma unroll
  for (int other = kWarp / 2; other >= kGroup; other /= 2) {
    total += from_lane(total, other);
#pragma unroll
    for (int c = 0; c < kColumns<T>; ++c) sums[c] += from_lane(sums[c], other);
  }
  const float inverse = total > 0.0f ? 1.0f / total : 0.0f;
  if (lane == 0) lse[row] = total > 0.0f ? largest + logf(total) : -kInfinity;
  if (lane >= kGroup || static_cast<uint32_t>(column) >= value_width) return;
  Columns<T> result;
#pragma unroll
  for (int c = 0; c < kColumns<T>; ++c) store(result.at + c, sums[c] * inverse);
  *reinterpret_cast<Columns<T>*>(out + row * value_width + column) = result;
}

// Calls body with the number of lanes per key, as an integral constant.
template <class Body> void with_group(int64_t vectors, Body&& body) {
  if (vectors <= 4) return body(std::integral_constant<int, 4>());
  if (vectors <= 8) return body(std::integral_constant<int, 8>());
  if (vectors <= 16) return body(std::integral_constant<int, 16>());
  body(std::integral_constant<int, 32>());
}

bool is_aligned(const Tensor& x) { return reinterpret_cast<uintptr_t>(x.raw()) % 16 == 0; }

}  // namespace

bool attend_single_query(Stream& stream, const DotAttentionArgs& args) {
  if (args.query.dim(0) != 1 || args.keys.dim(0) > kMaxKeys || !is_aligned(args.query) || !is_aligned(args.keys) ||
      !is_aligned(args.values)) {
    return false;
  }
  bool done = false;
  with_type_of(args.query, [&]<class T>(T) {
    const DotAttention<T> x(args);
    const int64_t widest = std::max(x.key_width, x.value_width);
    if (x.key_width % kColumns<T> != 0 || x.value_width % kColumns<T> != 0 || widest > kWarp * kColumns<T>) return;
    with_group(widest / kColumns<T>, [&](auto group) {
      constexpr int64_t kFits = int64_t{1} << 31;
      const bool fits = std::max(args.keys.size(), args.values.size()) < kFits;
      if (x.count <= kFewKeys && fits && !args.weights && args.dropout == 0.0f && is_aligned(args.out)) {
        return launch(stream, attend_few_kernel<decltype(group)::value, T>, rows_grid<kWarp>(x.rows()), x,
                      args.out.data<T>(), args.lse.data<float>());
      }
      const Grid grid = {dim3(to_unsigned(x.rows())), dim3(kThreads), static_cast<int>(x.count) * int{sizeof(float)}};
      launch(stream, attend_one_kernel<decltype(group)::value, T>, grid, x, args.out.data<T>(), args.lse.data<float>(),
             args.weights.data<T>());
    });
    done = true;
  });
  return done;
}

}  // namespace fovea::cuda
