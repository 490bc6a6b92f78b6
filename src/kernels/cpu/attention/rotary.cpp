// Rotary position embeddings (Su et al. 2021). The angles of a position are computed once for all its rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/rotary.cpp"
#include "kernels/rotary.h"

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

void rotary(const RotaryArgs& args) {
  const int64_t steps = args.x.dim(0), row = args.x.dim(1) * args.x.dim(2);
  const int64_t depth = args.x.dim(2) / args.heads, half = depth / 2;
  float* cosines = workspace<float, struct RotaryCosines>(static_cast<size_t>(steps * half));
  float* sines = workspace<float, struct RotarySines>(static_cast<size_t>(steps * half));
  for (int64_t t = 0; t < steps; ++t) {
    for (int64_t i = 0; i < half; ++i) {
      const auto [cosine, sine] = rotary_rotation(args.position + t * args.stride, i, depth, args.inverse);
      cosines[t * half + i] = static_cast<float>(cosine);
      sines[t * half + i] = static_cast<float>(sine);
    }
  }
  with_type_of(args.x, [&]<class T>(T) {
    each_row(steps * row / std::max<int64_t>(1, depth), depth, [&](int64_t head) {
      const T* x = args.x.data<T>() + head * depth;
      T* y = args.y.data<T>() + head * depth;
      const int64_t t = head * depth / row;
      each_register(half, [&](int64_t i, auto lanes) {
        const Floats low = load(x + i, lanes), high = load(x + half + i, lanes);
        const Floats c = load(cosines + t * half + i, lanes), s = load(sines + t * half + i, lanes);
        Floats first = low * c - high * s, second = low * s + high * c;
        if (args.accumulate) {
          first += load(y + i, lanes);
          second += load(y + half + i, lanes);
        }
        store(first, y + i, lanes);
        store(second, y + half + i, lanes);
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(rotary, RotaryArgs)
}  // namespace fovea::cpu
#endif
