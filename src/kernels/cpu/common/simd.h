// The SIMD layer of the CPU kernels: the compiled instruction sets, and a register of f32 that loads and stores f32 and
// bf16 (rounded to nearest even). A kernel file is compiled once for each instruction set:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "kernels/cpu/attention/softmax.cpp"
//   #include "kernels/cpu/common/simd.h"        // and simd_math.h where it is needed
//
//   HWY_BEFORE_NAMESPACE();
//   namespace fovea::cpu::HWY_NAMESPACE { namespace { ... } }  // seen once for every set
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace fovea::cpu { FOVEA_DISPATCH(softmax, SoftmaxArgs) }
//   #endif
//
// Functions of other headers that take registers must also be defined between BEFORE and AFTER, because a function uses
// the instruction set of its definition, not of its caller. A header of such functions includes this one before its
// guard for repeated inclusion.
#ifndef HWY_DISABLED_TARGETS
// On x86 the baseline, AVX2 and AVX-512 are compiled. A register has a fixed size, which excludes SVE.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#ifdef HWY_TARGET_INCLUDE
#include <hwy/foreach_target.h>
#endif
#include <hwy/highway.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/common/processor.h"
#include "tensor/dtype.h"

// Defines the kernel `name` of the table, which calls the one for the best available instruction set.
#ifndef FOVEA_DISPATCH
#define FOVEA_DISPATCH(name, Args) \
  HWY_EXPORT(name);                \
  void name(Stream&, const Args& args) { HWY_DYNAMIC_DISPATCH(name)(args); }
#endif

// The rest is included once for each instruction set.
#if defined(FOVEA_KERNELS_CPU_COMMON_SIMD_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_COMMON_SIMD_H_
#undef FOVEA_KERNELS_CPU_COMMON_SIMD_H_
#else
#define FOVEA_KERNELS_CPU_COMMON_SIMD_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::RebindToSigned<FloatTag>;
using WordTag = hn::RebindToUnsigned<FloatTag>;
using HalfTag = hn::Rebind<uint16_t, FloatTag>;  // the bits of as many bf16
constexpr int64_t kLanes = static_cast<int64_t>(hn::MaxLanes(FloatTag()));

// A register of kLanes f32 with the operators of a number, for the functors of kernels/pointwise.h.
struct Floats {
  hn::Vec<FloatTag> v;

  Floats() = default;
  HWY_INLINE Floats(hn::Vec<FloatTag> raw) : v(raw) {}  // NOLINT(google-explicit-constructor)
  template <class T, class = std::enable_if_t<std::is_arithmetic_v<T>>>
  HWY_INLINE explicit Floats(T number) : v(hn::Set(FloatTag(), static_cast<float>(number))) {}
};

HWY_INLINE Floats operator+(Floats a, Floats b) { return hn::Add(a.v, b.v); }
HWY_INLINE Floats operator-(Floats a, Floats b) { return hn::Sub(a.v, b.v); }
HWY_INLINE Floats operator*(Floats a, Floats b) { return hn::Mul(a.v, b.v); }
HWY_INLINE Floats operator/(Floats a, Floats b) { return hn::Div(a.v, b.v); }
HWY_INLINE Floats operator-(Floats a) { return hn::Neg(a.v); }
HWY_INLINE Floats& operator+=(Floats& a, Floats b) { return a = a + b; }
HWY_INLINE Floats& operator*=(Floats& a, Floats b) { return a = a * b; }
// Returns a * b + c, with one rounding if the instruction set has FMA.
HWY_INLINE Floats mul_add(Floats a, Floats b, Floats c) { return hn::MulAdd(a.v, b.v, c.v); }

HWY_INLINE Floats if_greater(Floats a, Floats b, Floats yes, Floats no) {
  return hn::IfThenElse(hn::Gt(a.v, b.v), yes.v, no.v);
}
HWY_INLINE Floats if_at_least(Floats a, Floats b, Floats yes, Floats no) {
  return hn::IfThenElse(hn::Ge(a.v, b.v), yes.v, no.v);
}
// Return a < b ? b : a, and b < a ? b : a: if a is NaN, the result is NaN. x86 returns its second operand in this case.
constexpr bool kTakesSecond = HWY_ARCH_X86 && HWY_TARGET < HWY_EMU128;
HWY_INLINE Floats maximum(Floats a, Floats b) {
  return kTakesSecond ? Floats(hn::Max(b.v, a.v)) : if_greater(b, a, b, a);
}
HWY_INLINE Floats minimum(Floats a, Floats b) {
  return kTakesSecond ? Floats(hn::Min(b.v, a.v)) : if_greater(a, b, b, a);
}
HWY_INLINE Floats abs(Floats a) { return hn::Abs(a.v); }
HWY_INLINE Floats sqrt(Floats a) { return hn::Sqrt(a.v); }

HWY_INLINE float sum(Floats a) { return hn::GetLane(hn::SumOfLanes(FloatTag(), a.v)); }
HWY_INLINE float max(Floats a) { return hn::GetLane(hn::MaxOfLanes(FloatTag(), a.v)); }

// The active lanes of a register: all, or the first n < kLanes at the end of a row.
struct AllLanes {};
struct FirstLanes {
  int64_t n;
};
HWY_INLINE Floats mask_lanes(Floats a, AllLanes, Floats) { return a; }
// Returns a in the active lanes and `other` in the remaining ones.
HWY_INLINE Floats mask_lanes(Floats a, FirstLanes lanes, Floats other) {
  return hn::IfThenElse(hn::FirstN(FloatTag(), static_cast<size_t>(lanes.n)), a.v, other.v);
}

// bf16 is the upper half of an f32: adding half a unit, less one if the lowest bit is 0, rounds ties to even. A NaN
// keeps its sign and stays a NaN. Some CPUs have an instruction for it, which however flushes denormals to 0.
HWY_INLINE Floats from_half(hn::Vec<HalfTag> half) {
  return hn::BitCast(FloatTag(), hn::ShiftLeft<16>(hn::PromoteTo(WordTag(), half)));
}
HWY_INLINE hn::Vec<HalfTag> to_half(Floats a) {
#if HWY_TARGET == HWY_AVX3
  constexpr int kDenormal = 0x20;
  if (HWY_LIKELY(kUsesAvx512Bf16 && _mm512_fpclass_ps_mask(a.v.raw, kDenormal) == 0)) {
    hn::Vec<HalfTag> half;
    asm("vcvtneps2bf16 %1, %0" : "=v"(half.raw) : "v"(a.v.raw));
    return half;
  }
#endif
  const WordTag d;
  const auto u = hn::BitCast(d, a.v);
  const auto upper = hn::ShiftRight<16>(u);
  const auto odd = hn::And(upper, hn::Set(d, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(hn::Add(u, hn::Set(d, 0x7FFF)), odd));
  const auto quiet = hn::Or(upper, hn::Set(d, 0x40));
  return hn::TruncateTo(HalfTag(), hn::IfThenElse(hn::RebindMask(d, hn::IsNaN(a.v)), quiet, rounded));
}

HWY_INLINE Floats load(const float* p, AllLanes = {}) { return hn::LoadU(FloatTag(), p); }
HWY_INLINE Floats load(const bf16* p, AllLanes = {}) {
  return from_half(hn::LoadU(HalfTag(), reinterpret_cast<const uint16_t*>(p)));
}
HWY_INLINE void store(Floats a, float* p, AllLanes = {}) { hn::StoreU(a.v, FloatTag(), p); }
HWY_INLINE void store(Floats a, bf16* p, AllLanes = {}) {
  hn::StoreU(to_half(a), HalfTag(), reinterpret_cast<uint16_t*>(p));
}

using Ints = hn::Vec<IntTag>;
HWY_INLINE Ints load(const int32_t* p, AllLanes = {}) { return hn::LoadU(IntTag(), p); }
HWY_INLINE Ints load(const int32_t* p, FirstLanes lanes) {
  int32_t whole[kLanes] = {};
  std::memcpy(whole, p, static_cast<size_t>(lanes.n) * sizeof(int32_t));
  return hn::LoadU(IntTag(), whole);
}
HWY_INLINE void store(Ints a, int32_t* p, AllLanes = {}) { hn::StoreU(a, IntTag(), p); }
HWY_INLINE void store(Ints a, int32_t* p, FirstLanes lanes) {
  int32_t whole[kLanes];
  hn::StoreU(a, IntTag(), whole);
  std::memcpy(p, whole, static_cast<size_t>(lanes.n) * sizeof(int32_t));
}

// Loads or stores the first n elements; the other lanes are 0 and their memory is not accessed. Other instruction sets
// than AVX-512 (and AVX2 for f32) have no such instruction, so the elements pass through the stack.
template <class T> HWY_INLINE Floats load(const T* p, FirstLanes lanes) {
  const auto n = static_cast<size_t>(lanes.n);
  if constexpr (HWY_TARGET <= HWY_AVX3 && std::is_same_v<T, bf16>) {
    return from_half(hn::MaskedLoad(hn::FirstN(HalfTag(), n), HalfTag(), reinterpret_cast<const uint16_t*>(p)));
  } else if constexpr (HWY_TARGET <= HWY_AVX2 && std::is_same_v<T, float>) {
    return hn::MaskedLoad(hn::FirstN(FloatTag(), n), FloatTag(), p);
  } else {
    T whole[kLanes] = {};
    std::memcpy(whole, p, n * sizeof(T));
    return load(whole);
  }
}
template <class T> HWY_INLINE void store(Floats a, T* p, FirstLanes lanes) {
  const auto n = static_cast<size_t>(lanes.n);
  if constexpr (HWY_TARGET <= HWY_AVX3 && std::is_same_v<T, bf16>) {
    hn::BlendedStore(to_half(a), hn::FirstN(HalfTag(), n), HalfTag(), reinterpret_cast<uint16_t*>(p));
  } else if constexpr (HWY_TARGET <= HWY_AVX2 && std::is_same_v<T, float>) {
    hn::BlendedStore(a.v, hn::FirstN(FloatTag(), n), FloatTag(), p);
  } else {
    T whole[kLanes];
    store(a, whole);
    std::memcpy(p, whole, n * sizeof(T));
  }
}

// Calls body(i, lanes) for the registers of the elements [begin, end) of a row: i = begin, begin + kLanes, ... with
// AllLanes, then once with FirstLanes for the remaining elements.
template <class Body> HWY_INLINE void each_register(int64_t begin, int64_t end, Body&& body) {
  int64_t i = begin;
  for (; i + kLanes <= end; i += kLanes) body(i, AllLanes{});
  if (i < end) body(i, FirstLanes{end - i});
}
template <class Body> HWY_INLINE void each_register(int64_t n, Body&& body) { each_register(0, n, body); }

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_COMMON_SIMD_H_
