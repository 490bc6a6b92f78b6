// One of each row, by lot or by size; and the largest of each row.
#include "kernels/cuda/functions.h"
#include "kernels/cuda/reduce/argmax.h"

namespace fovea::cuda {

namespace {

// A thread a row, summing in f64 and in the order of kernels/sample_index.h, so that the lot falls on the same one as on
// every other device.
template <class T>
__device__ int64_t chosen_index(const T* weights, int64_t count, const RandomSource& random, int64_t row) {
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
  const double lot = random_word(random.seed, random.stream(), static_cast<uint64_t>(row)) * 0x1p-32 * total;
  double below = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    below += static_cast<double>(load(weights + i));
    if (below > lot) return i;
  }
  return largest;  // rounding left the lot past the end
}

template <class T>
__global__ void choose_kernel(const T* weights, T* chosen, int64_t rows, int64_t width, RandomSource random) {
  for (int64_t row = first_element(); row < rows; row += element_stride()) {
    const int64_t pick = chosen_index(weights + row * width, width, random, row);
    for (int64_t s = 0; s < width; ++s) store(chosen + row * width + s, s == pick ? 1.0f : 0.0f);
  }
}

// Whether a comes before b, which may be nothing.
__device__ bool comes_before(Best a, Best b) {
  return b.index < 0 || a.value > b.value || (a.value == b.value && a.index < b.index);
}

// Calls body with each of the thread's elements of a row that comes after `last`, in the order of values and, among
// equal ones, of places.
template <int kCount, class T, class Body>
__device__ void each_after(const T* x, int64_t width, Best last, Body&& body) {
  for (int64_t first = kCount * threadIdx.x; first < width; first += kCount * kBlock) {
    const Pack<T, kCount> pack = load_pack<kCount>(x + first);
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const Best own = {load(pack.x + c), static_cast<int32_t>(first + c)};
      if (own.value < last.value || (own.value == last.value && own.index > last.index)) body(own);
    }
  }
}

// A block a row. Each thread keeps its first few; the first of all of them is taken k times, and the thread that had
// it goes on to its next. One that has given away all it kept looks again.
template <int kCount, class T>
__global__ void top_k_kernel(const T* x, T* values, int32_t* index, int64_t width, int64_t k) {
  constexpr int kKept = 4;
  const int64_t row = blockIdx.x;
  x += row * width;
  Best kept[kKept];
#pragma unroll
  for (Best& each : kept) each = {-kInfinity, -1};
  each_after<kCount>(x, width, {kInfinity, -1}, [&](Best next) {
    if (!comes_before(next, kept[kKept - 1])) return;
#pragma unroll
    for (Best& each : kept) {
      if (!comes_before(next, each)) continue;
      const Best later = each;
      each = next;
      next = later;
      if (next.index < 0) break;
    }
  });
  const bool may_have_more = kept[kKept - 1].index >= 0;
  for (int64_t n = 0; n < k; ++n) {
    const Best best = Team<kBlock>::all(kept[0], Better());
    if (threadIdx.x == 0) {
      store(values + row * k + n, best.index < 0 ? -kInfinity : best.value);
      index[row * k + n] = best.index;
    }
    if (best.index < 0 || best.index != kept[0].index) continue;
#pragma unroll
    for (int i = 0; i + 1 < kKept; ++i) kept[i] = kept[i + 1];
    kept[kKept - 1] = {-kInfinity, -1};
    if (kept[0].index >= 0 || !may_have_more) continue;
    each_after<kCount>(x, width, best, [&](Best next) {
      if (comes_before(next, kept[0])) kept[0] = next;
    });
  }
}

}  // namespace

void choose(Stream& stream, const ChooseArgs& args) {
  const int64_t width = args.weights.dim(-1), rows = width == 0 ? 0 : args.weights.size() / width;
  with_type_of(args.weights, [&]<class T>(T) {
    launch(stream, choose_kernel<T>, elements_grid(rows), args.weights.data<T>(), args.chosen.data<T>(), rows, width,
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
