// exp, tanh, sigmoid and log of a register of f32. NaN gives NaN. The largest errors over all f32, in units of the last
// place of the exact value, as tests/kernels/simd_math_test.cpp asserts them:
//   exp 1.1, exp_nonpositive 1.1, tanh 2.6, sigmoid 2.5, log 0.9
#include <cmath>

#include "kernels/cpu/common/simd.h"

#if defined(FOVEA_KERNELS_CPU_COMMON_SIMD_MATH_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_COMMON_SIMD_MATH_H_
#undef FOVEA_KERNELS_CPU_COMMON_SIMD_MATH_H_
#else
#define FOVEA_KERNELS_CPU_COMMON_SIMD_MATH_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

// Evaluates a polynomial by Horner's scheme; the lowest coefficient comes first.
HWY_INLINE Floats polynomial(Floats, float c) { return Floats(c); }
template <class... C> HWY_INLINE Floats polynomial(Floats x, float c, C... higher) {
  return mul_add(polynomial(x, higher...), x, Floats(c));
}

namespace detail {

// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits; with 127 added, these are the exponent field of
// 2^n, ready to be shifted.
constexpr float kRound = 12582912.0f;
constexpr float kRoundBiased = kRound + 127.0f;
constexpr float kLog2E = 1.44269504f;
// ln 2 in two parts; the product of the first with any exponent is exact.
constexpr float kLn2High = 0.693359375f, kLn2Low = -2.12194440e-4f;

HWY_INLINE Floats fast_exp2(Floats biased) {  // biased = n + kRoundBiased
  return hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::BitCast(WordTag(), biased.v)));
}
HWY_INLINE Floats less_ln2(Floats x, Floats n) {
  return mul_add(n, Floats(-kLn2Low), mul_add(n, Floats(-kLn2High), x));
}
// Returns e^r for |r| <= ln(2)/2.
HWY_INLINE Floats exp_reduced(Floats r) {
  const Floats p = polynomial(r, 0.5f, 0.166665763f, 0.0416665561f, 0.00836320315f, 0.00139262131f);
  return mul_add(p, r * r, r) + Floats(1);
}

}  // namespace detail

// e^x = 2^n e^r with n = round(x / ln 2). 2^n is applied in two halves, so that results range from the smallest
// denormal to the largest finite number.
HWY_INLINE Floats exp(Floats x) {
  const IntTag di;
  x = minimum(maximum(x, Floats(-105)), Floats(89));
  const Floats shifted = mul_add(x, Floats(detail::kLog2E), Floats(detail::kRound));
  const Floats e_r = detail::exp_reduced(detail::less_ln2(x, shifted - Floats(detail::kRound)));
  const auto n = hn::Sub(hn::BitCast(di, shifted.v), hn::BitCast(di, Floats(detail::kRound).v));
  const auto half = hn::ShiftRight<1>(n);
  const auto one = hn::Set(di, 127);
  const auto power = [&](auto m) { return Floats(hn::BitCast(FloatTag(), hn::ShiftLeft<23>(hn::Add(m, one)))); };
  return e_r * power(half) * power(hn::Sub(n, half));
}

// Returns e^x for x <= 0, for softmax: it is cheaper than exp. Results below 2^-126.5 are 0.
HWY_INLINE Floats exp_nonpositive(Floats x) {
  x = maximum(x, Floats(-88));
  const Floats biased = mul_add(x, Floats(detail::kLog2E), Floats(detail::kRoundBiased));
  const Floats n = biased - Floats(detail::kRoundBiased);
  return detail::exp_reduced(detail::less_ln2(x, n)) * detail::fast_exp2(biased);
}

// tanh x = q / (q + 2) with q = e^2x - 1 = 2^n (e^2h - 1) + (2^n - 1), 2x = n ln 2 + 2h. This avoids cancellation near
// 0, where n = 0 and q is 2h + h^2 P(h). It is computed for |x|, so that tanh(-x) is -tanh(x) bit for bit.
HWY_INLINE Floats tanh(Floats x) {
  const Floats size = minimum(abs(x), Floats(10));
  const Floats biased = mul_add(size, Floats(2 * detail::kLog2E), Floats(detail::kRoundBiased));
  const Floats h = mul_add(biased - Floats(detail::kRoundBiased), Floats(-0.346573591f), size);
  const Floats power = detail::fast_exp2(biased);
  const Floats p = polynomial(h, 2.0f, 1.33332610f, 0.666664898f, 0.267622501f, 0.0891277641f);
  const Floats q = mul_add(power, mul_add(p, h * h, h + h), power - Floats(1));
  return hn::CopySignToAbs((q / (q + Floats(2))).v, x.v);
}

// Returns 1 / (1 + e^-x), which is 0 below about -88.4.
HWY_INLINE Floats sigmoid(Floats x) {
  x = maximum(minimum(x, Floats(88)), Floats(-89));
  const Floats biased = mul_add(x, Floats(-detail::kLog2E), Floats(detail::kRoundBiased));
  const Floats n = biased - Floats(detail::kRoundBiased);
  const Floats e = detail::exp_reduced(detail::less_ln2(-x, n)) * detail::fast_exp2(biased);
  return Floats(1) / (Floats(1) + e);
}

// log x = e ln 2 + log(1+f) with x = 2^e (1+f), sqrt(1/2) <= 1+f < sqrt(2).
HWY_INLINE Floats log(Floats x) {
  const IntTag di;
  const Floats least(1.17549435e-38f);
  const Floats scaled = if_greater(least, x, x * Floats(8388608.0f), x);  // scales denormals to normal numbers
  const auto bits = hn::Sub(hn::BitCast(di, scaled.v), hn::Set(di, 0x3F3504F3));
  const Floats whole = hn::ConvertTo(FloatTag(), hn::ShiftRight<23>(bits));
  const Floats e = if_greater(least, x, whole - Floats(23), whole);
  const auto fraction = hn::Add(hn::And(bits, hn::Set(di, 0x007FFFFF)), hn::Set(di, 0x3F3504F3));
  const Floats f = Floats(hn::BitCast(FloatTag(), fraction)) - Floats(1);

  const Floats p = polynomial(f, 0.333333313f, -0.249999970f, 0.200007156f, -0.166678026f, 0.142490581f, -0.124256872f,
                              0.116854198f, -0.114797339f, 0.0697161183f);
  const Floats f2 = f * f;
  const Floats low = mul_add(e, Floats(detail::kLn2Low), f * f2 * p);
  const Floats y = mul_add(e, Floats(detail::kLn2High), f + mul_add(Floats(-0.5f), f2, low));

  const Floats infinity(HUGE_VALF);
  const Floats at_ends = if_greater(x, Floats(0), y, if_at_least(x, Floats(0), -infinity, infinity - infinity));
  return if_greater(infinity, x, at_ends, x);  // +inf and NaN are returned unchanged
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_COMMON_SIMD_MATH_H_
