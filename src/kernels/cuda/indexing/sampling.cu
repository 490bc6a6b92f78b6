// Sampling of an index of each row, and the k largest elements of each row.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/reduce/argmax.h"

namespace fovea::cuda {

namespace {

// Each thread samples one row. It sums in f64 and in the order of kernels/sample_index.h, so that the sampled index is
// the same on every device.
template <class T>
__device__ int64_t sample_index(const T* weights, int64_t count, const RandomSource& random, int64_t row) {
  double total = 0.0;
  float top = 0.0f;
  int64_t largest = -1;
  for (int64_t i = 0; i < count; ++i) {
    const float weight = load(weights + i);
    total += static_cast<double>(weight);
    if (weight > top) {
      top = weight;
      largest = i;
    }
  }
  if (random.step == nullptr || largest < 0) return largest;
  const double threshold = random_word(random.seed, random.stream(), static_cast<uint64_t>(row)) * 0x1p-32 * total;
  double cumulative = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    cumulative += static_cast<double>(load(weights + i));
    if (cumulative > threshold) return i;
  }
  return largest;  // rounding placed the threshold past the end
}

template <class T>
__global__ void sample_kernel(const T* weights, T* one_hot, int64_t rows, int64_t width, RandomSource random) {
  for (int64_t row = first_element(); row < rows; row += element_stride()) {
    const int64_t index = sample_index(weights + row * width, width, random, row);
    for (int64_t s = 0; s < width; ++s) store(one_hot + row * width + s, s == index ? 1.0f : 0.0f);
  }
}

// Returns whether a ranks before b; an empty b (index -1) ranks last.
__device__ bool ranks_before(ArgMax a, ArgMax b) {
  return b.index < 0 || a.value > b.value || (a.value == b.value && a.index < b.index);
}

// Calls body with each element of the thread's part of a row that ranks after `last`. Elements rank by descending value
// and, if equal, by ascending index.
template <int kCount, class T, class Body>
__device__ void each_after(const T* x, int64_t width, ArgMax last, Body&& body) {
  for (int64_t first = kCount * threadIdx.x; first < width; first += kCount * kBlock) {
    const Pack<T, kCount> pack = load_pack<kCount>(x + first);
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const ArgMax own = {load(pack.x + c), static_cast<int32_t>(first + c)};
      if (own.value < last.value || (own.value == last.value && own.index > last.index)) body(own);
    }
  }
}

// Each block processes one row. Each thread keeps its kCount best elements. The best of all threads is taken k times,
// and its owner advances to its next element; a thread whose elements are used up scans its part of the row again.
template <int kCount, class T>
__global__ void top_k_kernel(const T* x, T* values, int32_t* index, int64_t width, int64_t k) {
  constexpr int kKept = 4;
  const int64_t row = blockIdx.x;
  x += row * width;
  ArgMax kept[kKept];
#pragma unroll
  for (ArgMax& each : kept) each = {-kInfinity, -1};
  each_after<kCount>(x, width, {kInfinity, -1}, [&](ArgMax next) {
    if (!ranks_before(next, kept[kKept - 1])) return;
#pragma unroll
    for (ArgMax& each : kept) {
      if (!ranks_before(next, each)) continue;
      const ArgMax later = each;
      each = next;
      next = later;
      if (next.index < 0) break;
    }
  });
  const bool may_have_more = kept[kKept - 1].index >= 0;
  for (int64_t n = 0; n < k; ++n) {
    const ArgMax best = Team<kBlock>::all(kept[0], LargerArgMax());
    if (threadIdx.x == 0) {
      store(values + row * k + n, best.index < 0 ? -kInfinity : best.value);
      index[row * k + n] = best.index;
    }
    if (best.index < 0 || best.index != kept[0].index) continue;
#pragma unroll
    for (int i = 0; i + 1 < kKept; ++i) kept[i] = kept[i + 1];
    kept[kKept - 1] = {-kInfinity, -1};
    if (kept[0].index >= 0 || !may_have_more) continue;
    each_after<kCount>(x, width, best, [&](ArgMax next) {
      if (ranks_before(next, kept[0])) kept[0] = next;
    });
  }
}

}  // namespace

void sample(Stream& stream, const SampleArgs& args) {
  const int64_t width = args.weights.dim(-1), rows = width == 0 ? 0 : args.weights.size() / width;
  with_type_of(args.weights, [&]<class T>(T) {
    launch(stream, sample_kernel<T>, elements_grid(rows), args.weights.data<T>(), args.one_hot.data<T>(), rows, width,
           RandomSource(args.random));
  });
}

void top_k(Stream& stream, const TopKArgs& args) {
  const int64_t width = args.x.dim(-1), rows = width == 0 ? args.index.size() / args.k : args.x.size() / width;
  with_type_of(args.x, [&]<class T>(T) {
    with_pack(width, {args.x.raw()}, [&](auto pack) {
      launch(stream, top_k_kernel<decltype(pack)::value, T>, Grid{dim3(to_unsigned(rows)), dim3(kBlock)},
             args.x.data<T>(), args.values.data<T>(), args.index.data<int32_t>(), width, args.k);
    });
  });
}

}  // namespace fovea::cuda
