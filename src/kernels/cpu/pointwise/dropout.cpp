// Dropout (Srivastava et al. 2014). The mask is never stored, but regenerated from the counter.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/pointwise/dropout.cpp"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/philox_simd.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

static_assert(kBlock % kWords == 0);

void dropout(const DropoutArgs& args) {
  const int64_t size = args.x.size(), period = args.period > 0 ? args.period : std::max<int64_t>(1, size);
  const DropoutFactors drawn(args.rate, args.random);
  with_type_of(args.x, [&]<class T>(T) {
    each_block(size / period, period, [&](int64_t row, int64_t begin, int64_t end) {
      const T* x = args.x.data<T>() + row * period;
      const T* base = args.base ? args.base.data<T>() + row * period : nullptr;
      const T* gate = args.gate ? args.gate.data<T>() + row * period : nullptr;
      T* y = args.y.data<T>() + row * period;
      float factors[kWords];
      for (int64_t first = begin; first < end; first += kWords) {
        drawn.get(static_cast<uint64_t>(first) / 4, factors);
        each_register(first, std::min(end, first + kWords), [&](int64_t i, auto lanes) {
          Floats kept = load(x + i, lanes) * load(factors + (i - first));
          if (gate != nullptr) kept = if_greater(load(gate + i, lanes), Floats(0), kept, Floats(0));
          const T* onto = args.accumulate ? y : base;
          store(onto != nullptr ? load(onto + i, lanes) + kept : kept, y + i, lanes);
        });
      }
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(dropout, DropoutArgs)
}  // namespace fovea::cpu
#endif
