// Dropout (Srivastava et al. 2014) with an optional residual connection and gate.
#include <numeric>

#include "kernels/cuda/functions.h"
#include "kernels/cuda/pointwise/dropout.h"

namespace fovea::cuda {

namespace {

// y = base + dropout(x). base may be y or null, gate may be null. Each thread processes four elements, which share one
// Philox block unless the period splits them.
template <class T>
__global__ void dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                               DropoutMask dropout) {
  const RandomSource& random = dropout.random;
  const uint64_t stream = random.stream();
  for (int64_t first = 4 * first_element(); first < count; first += 4 * element_stride()) {
    const int64_t place = first % period;
    const bool one_block = place % 4 == 0 && place + 4 <= period;
    RandomBits bits = {};
    if (one_block) bits = philox(random.seed, stream, static_cast<uint64_t>(place / 4));
    for (int k = 0; k < 4 && first + k < count; ++k) {
      const int64_t i = first + k;
      const uint32_t word =
          one_block ? bits.word[k] : random_word(random.seed, stream, static_cast<uint64_t>(i % period));
      const bool passes = dropout.keeps(word) && (gate == nullptr || load(gate + i) > 0.0f);
      const float value = passes ? load(x + i) * dropout.scale : 0.0f;
      store(y + i, base != nullptr ? load(base + i) + value : value);
    }
  }
}

// The variant for a period and count that are multiples of a pack.
template <class T>
__global__ void packed_dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                                      DropoutMask dropout) {
  for (int64_t i = kPack * first_element(); i < count; i += kPack * element_stride()) {
    const Pack<T> from = load_pack(x + i);
    Pack<T> to = {};
    if (base != nullptr) to = load_pack(base + i);
    Pack<T> gates = from;
    if (gate != nullptr && gate != x) gates = load_pack(gate + i);
    float factors[kPack];
    dropout.get_factors(factors, period == count ? i : i % period);
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const bool passes = gate == nullptr || load(gates.x + k) > 0.0f;
      const float value = passes ? apply_dropout(load(from.x + k), factors[k]) : 0.0f;
      store(to.x + k, base != nullptr ? load(to.x + k) + value : value);
    }
    store_pack(y + i, to);
  }
}

}  // namespace

void dropout(Stream& stream, const DropoutArgs& args) {
  const int64_t count = args.x.size(), period = args.period > 0 ? args.period : count;
  with_type_of(args.x, [&]<class T>(T) {
    const T* base = args.accumulate ? args.y.data<T>() : args.base.data<T>();
    with_pack(std::gcd(count, period), {args.x.raw(), args.gate.raw(), base, args.y.raw()}, [&](auto pack) {
      constexpr bool kPacked = decltype(pack)::value == kPack;
      launch(stream, kPacked ? packed_dropout_kernel<T> : dropout_kernel<T>,
             elements_grid(ceil_div(count, kPacked ? kPack : 4)), args.x.data<T>(), args.gate.data<T>(), base,
             args.y.data<T>(), count, period, DropoutMask(args.rate, args.random));
    });
  });
}

}  // namespace fovea::cuda
