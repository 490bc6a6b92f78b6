// Dropout (Srivastava et al. 2014), with a residual and a gate.
#include <numeric>

#include "kernels/cuda/functions.h"
#include "kernels/cuda/pointwise/dropout.h"

namespace fovea::cuda {

namespace {

// y = base + what is kept of x; base may be y, or null for nothing, and gate null for no gate.
// Four elements a thread: they share a block of random words where the period does not cut them apart.
template <class T>
__global__ void dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                               Dropping dropping) {
  const RandomSource& random = dropping.random;
  const uint64_t stream = random.stream();
  for (int64_t first = 4 * first_element(); first < count; first += 4 * element_stride()) {
    const int64_t place = first % period;
    const bool together = place % 4 == 0 && place + 4 <= period;
    RandomBits bits = {};
    if (together) bits = philox(random.seed, stream, static_cast<uint64_t>(place / 4));
    for (int k = 0; k < 4 && first + k < count; ++k) {
      const int64_t i = first + k;
      const uint32_t word =
          together ? bits.word[k] : random_word(random.seed, stream, static_cast<uint64_t>(i % period));
      const bool passes = dropping.keeps(word) && (gate == nullptr || load(gate + i) > 0.0f);
      const float value = passes ? load(x + i) * dropping.kept : 0.0f;
      store(y + i, base != nullptr ? load(base + i) + value : value);
    }
  }
}

// The same where packs are never cut apart: the period and the count are multiples of their size.
template <class T>
__global__ void packed_dropout_kernel(const T* x, const T* gate, const T* base, T* y, int64_t count, int64_t period,
                                      Dropping dropping) {
  for (int64_t i = kPack * first_element(); i < count; i += kPack * element_stride()) {
    const Pack<T> from = load_pack(x + i);
    Pack<T> to = {};
    if (base != nullptr) to = load_pack(base + i);
    Pack<T> gates = from;
    if (gate != nullptr && gate != x) gates = load_pack(gate + i);
    float factors[kPack];
    dropping.find(factors, period == count ? i : i % period);
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const bool passes = gate == nullptr || load(gates.x + k) > 0.0f;
      const float value = passes ? kept_of(load(from.x + k), factors[k]) : 0.0f;
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
             args.y.data<T>(), count, period, Dropping(args.rate, args.random));
    });
  });
}

}  // namespace fovea::cuda
