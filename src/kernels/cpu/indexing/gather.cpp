// Gather and scatter-add along an axis, with SIMD where adjacent elements share one index.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/indexing/gather.cpp"
#include <algorithm>

#include "kernels/broadcast_index.h"
#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/common/workspace.h"
#include "kernels/cpu/functions.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// Calls body(index, first, last) for each run of the elements [begin, end) of pick k of matrix o that have one index.
template <class Body>
HWY_INLINE void each_run(const GatherShape& s, const int32_t* index, int64_t o, int64_t k, int64_t begin, int64_t end,
                         Body&& body) {
  const int64_t run = s.inner / s.index_inner;
  for (int64_t i = begin; i < end;) {
    const int64_t last = std::min(end, (i / run + 1) * run);
    body(int64_t{index[index_position(s, o, k, i)]}, i, last);
    i = last;
  }
}

template <class To, class From> HWY_INLINE void add_to(To* to, const From* from, int64_t n) {
  if (n == 1) {
    *to = To(static_cast<float>(*to) + static_cast<float>(*from));
    return;
  }
  each_register(n, [&](int64_t i, auto lanes) { store(load(to + i, lanes) + load(from + i, lanes), to + i, lanes); });
}

void gather(const GatherArgs& args) {
  const GatherShape& s = args.shape;
  const int32_t* index = args.index.data<int32_t>();
  with_type_of(args.whole, [&]<class T>(T) {
    each_block(s.outer * s.picks, s.inner, [&](int64_t row, int64_t begin, int64_t end) {
      const int64_t o = row / s.picks;
      const T* from = args.whole.data<T>() + o * s.count * s.inner;
      T* to = args.picked.data<T>() + row * s.inner;
      each_run(s, index, o, row % s.picks, begin, end, [&](int64_t at, int64_t first, int64_t last) {
        const T* some = from + at * s.inner;
        if (args.accumulate) {
          add_to(to + first, some + first, last - first);
        } else {
          std::copy(some + first, some + last, to + first);
        }
      });
    });
  });
}

// Adds the columns [begin, end) of all picks of matrix o to `whole`, whose rows are `stride` apart and start at
// `begin`.
template <class To, class From>
void add_picks(const ScatterAddArgs& args, int64_t o, int64_t begin, int64_t end, To* whole, int64_t stride) {
  const GatherShape& s = args.shape;
  for (int64_t k = 0; k < s.picks; ++k) {
    const From* from = args.picked.data<From>() + (o * s.picks + k) * s.inner;
    each_run(s, args.index.data<int32_t>(), o, k, begin, end, [&](int64_t at, int64_t first, int64_t last) {
      add_to(whole + at * stride + first - begin, from + first, last - first);
    });
  }
}

// Threads divide the matrices and their columns, never the picks, so that equal indices are added in order. Sums of
// bf16 are computed in f32.
void scatter_add(const ScatterAddArgs& args) {
  constexpr int64_t kColumns = 64;
  const GatherShape& s = args.shape;
  const int64_t across = divide_up(s.inner, kColumns);
  each_row(s.outer * across, (s.picks + s.count) * std::min(s.inner, kColumns), [&](int64_t unit) {
    const int64_t o = unit / across, begin = unit % across * kColumns, end = std::min(s.inner, begin + kColumns);
    if (args.whole.dtype() == DType::kF32) {
      float* whole = args.whole.data<float>() + o * s.count * s.inner + begin;
      return add_picks<float, float>(args, o, begin, end, whole, s.inner);
    }
    const int64_t width = end - begin;
    bf16* whole = args.whole.data<bf16>() + o * s.count * s.inner + begin;
    float* sums = workspace<float, struct ScatteredSums>(static_cast<size_t>(s.count * width));
    std::fill_n(sums, s.count * width, 0.0f);
    add_picks<float, bf16>(args, o, begin, end, sums, width);
    for (int64_t row = 0; row < s.count; ++row) add_to(whole + row * s.inner, sums + row * width, width);
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(gather, GatherArgs)
FOVEA_DISPATCH(scatter_add, ScatterAddArgs)
}  // namespace fovea::cpu
#endif
