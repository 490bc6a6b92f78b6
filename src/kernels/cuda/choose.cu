// One of each row, by lot or by size; and the largest of each row.
#include "kernels/cuda/best.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

// A thread a row, summing in f64 and in the order of kernels/choice.h, so that the lot falls on the same one as on
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

// A block a row: k times the best of what comes after the last one found, in the order of values and, among equal
// ones, of places.
template <int kCount, class T>
__global__ void top_k_kernel(const T* x, T* values, int32_t* index, int64_t width, int64_t k) {
  const int64_t row = blockIdx.x;
  x += row * width;
  Best last = {kInfinity, -1};
  for (int64_t n = 0; n < k; ++n) {
    Best best = {-kInfinity, -1};
    for (int64_t first = kCount * threadIdx.x; first < width; first += kCount * kBlock) {
      const Pack<T, kCount> pack = load_pack<kCount>(x + first);
#pragma unroll
      for (int c = 0; c < kCount; ++c) {
        const float value = load(pack.x + c);
        const auto i = static_cast<int32_t>(first + c);
        if (value < last.value || (value == last.value && i > last.index)) best = Better()(best, {value, i});
      }
    }
    best = Team<kBlock>::all(best, Better());
    if (threadIdx.x == 0) {
      store(values + row * k + n, best.index < 0 ? -kInfinity : best.value);
      index[row * k + n] = best.index;
    }
    if (best.index < 0) best = {-kInfinity, INT32_MAX};  // nothing is left
    last = best;
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
