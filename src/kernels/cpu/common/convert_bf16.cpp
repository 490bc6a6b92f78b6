#include "kernels/cpu/common/convert_bf16.h"

#include <algorithm>

#include "base/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/common/convert_bf16.cpp"
#include "kernels/cpu/common/simd.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

template <class From, class To> void convert_row(const From* from, To* to, int64_t count) {
  each_register(count, [&](int64_t i, auto lanes) { store(load(from + i, lanes), to + i, lanes); });
}
void widen_row(const bf16* from, float* to, int64_t count) { convert_row(from, to, count); }
void narrow_row(const float* from, bf16* to, int64_t count) { convert_row(from, to, count); }

template <class T> void add_row(const float* from, T* to, int64_t count) {
  each_register(count,
                [&](int64_t i, auto lanes) { store(load(to + i, lanes) + load(from + i, lanes), to + i, lanes); });
}
void add_f32(const float* from, float* to, int64_t count) { add_row(from, to, count); }
void add_bf16(const float* from, bf16* to, int64_t count) { add_row(from, to, count); }

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {

HWY_EXPORT(widen_row);
HWY_EXPORT(narrow_row);
HWY_EXPORT(add_f32);
HWY_EXPORT(add_bf16);

namespace {

constexpr int64_t kGrain = 1 << 15;  // fewest elements for another thread

template <class From, class To>
void convert_rows(void (*row)(const From*, To*, int64_t), const From* from, To* to, const MatrixSize& size) {
  parallel_for(size.rows, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, size.columns)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i) {
                   row(from + i * size.from_stride, to + i * size.to_stride, size.columns);
                 }
               });
}

template <class T> void add_parts(void (*row)(const float*, T*, int64_t), const float* from, T* to, int64_t count) {
  parallel_for(count, kGrain, [&](int64_t begin, int64_t end) { row(from + begin, to + begin, end - begin); });
}

}  // namespace

void convert(const bf16* from, float* to, const MatrixSize& size) {
  convert_rows(HWY_DYNAMIC_DISPATCH(widen_row), from, to, size);
}
void convert(const float* from, bf16* to, const MatrixSize& size) {
  convert_rows(HWY_DYNAMIC_DISPATCH(narrow_row), from, to, size);
}

void add(const float* from, float* to, int64_t count) { add_parts(HWY_DYNAMIC_DISPATCH(add_f32), from, to, count); }
void add(const float* from, bf16* to, int64_t count) { add_parts(HWY_DYNAMIC_DISPATCH(add_bf16), from, to, count); }

}  // namespace fovea::cpu
#endif  // HWY_ONCE
