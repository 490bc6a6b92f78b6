// The SIMD functions against libm in double, over a dense sample of all f32, on every instruction set of this machine;
// bf16 rounding and random words against their scalar forms, including the ends of rows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/simd_math_test.cpp"
#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/common/philox_simd.h"
#include "kernels/targets.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

template <class F> void apply(const float* x, float* y, int64_t n, F f) {
  each_register(n, [&](int64_t i, auto lanes) { store(f(load(x + i, lanes)), y + i, lanes); });
}
void vector_exp(const float* x, float* y, int64_t n) {
  apply(x, y, n, [](Floats v) { return exp(v); });
}
void vector_exp_nonpositive(const float* x, float* y, int64_t n) {
  apply(x, y, n, [](Floats v) { return exp_nonpositive(v); });
}
void vector_tanh(const float* x, float* y, int64_t n) {
  apply(x, y, n, [](Floats v) { return tanh(v); });
}
void vector_sigmoid(const float* x, float* y, int64_t n) {
  apply(x, y, n, [](Floats v) { return sigmoid(v); });
}
void vector_log(const float* x, float* y, int64_t n) {
  apply(x, y, n, [](Floats v) { return log(v); });
}
void vector_maximum(const float* x, float* y, int64_t n) {
  apply(x, y, n, [](Floats v) { return maximum(v, Floats(0)); });
}
void to_bf16(const float* x, bf16* y, int64_t n) {
  each_register(n, [&](int64_t i, auto lanes) { store(load(x + i, lanes), y + i, lanes); });
}
void from_bf16(const bf16* x, float* y, int64_t n) {
  each_register(n, [&](int64_t i, auto lanes) { store(load(x + i, lanes), y + i, lanes); });
}
void sum_and_max(const float* x, int64_t n, float* results) {
  Floats total(0), running_max(-HUGE_VALF);
  each_register(n, [&](int64_t i, auto lanes) {
    const Floats v = load(x + i, lanes);
    total += v;
    running_max = maximum(running_max, mask_lanes(v, lanes, Floats(-HUGE_VALF)));
  });
  results[0] = sum(total);
  results[1] = max(running_max);
}

void draw_words(uint64_t block, std::vector<uint32_t>* words) {
  words->resize(kWords);
  random_words(0x0123456789ABCDEF, 0xFEDCBA9876543210, block, words->data());
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
namespace {

HWY_EXPORT(vector_exp);
HWY_EXPORT(vector_exp_nonpositive);
HWY_EXPORT(vector_tanh);
HWY_EXPORT(vector_sigmoid);
HWY_EXPORT(vector_log);
HWY_EXPORT(vector_maximum);
HWY_EXPORT(to_bf16);
HWY_EXPORT(from_bf16);
HWY_EXPORT(sum_and_max);
HWY_EXPORT(draw_words);

// Every 4,099th of all 2^32 f32, and the special values.
const std::vector<float>& sample() {
  static const std::vector<float> xs = [] {
    std::vector<float> all;
    for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 4099)
      all.push_back(std::bit_cast<float>(uint32_t(bits)));
    for (float x = -110.0f; x < 110.0f; x += 0.00037f) all.push_back(x);
    using Limits = std::numeric_limits<float>;
    for (const float x :
         {0.0f, 1.0f, 0.5f, 10.0f, 88.376f, 88.7228f, 88.73f, 103.97f, 87.336f, 1e-20f, 0.34657359f, 0.693147f,
          1.41421f, Limits::min(), Limits::denorm_min(), Limits::max(), Limits::infinity()}) {
      for (const float y : {x, -x}) {
        all.insert(all.end(), {y, std::nextafter(y, -Limits::infinity()), std::nextafter(y, Limits::infinity())});
      }
    }
    all.push_back(Limits::quiet_NaN());
    return all;
  }();
  return xs;
}

// Returns |got - exact| in units of the last place of the exact value.
double ulps(float got, double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : HUGE_VAL;
  const auto nearest = static_cast<float>(exact);
  if (got == nearest) return 0;
  if (!std::isfinite(got) || !std::isfinite(nearest)) return HUGE_VAL;
  const int exponent = std::max(std::ilogb(exact), -126);
  return std::abs(got - exact) / std::ldexp(1.0, exponent - 23);
}

using Vector = void (*)(const float*, float*, int64_t);

// Expects the largest error over the xs for which `wanted` is true to be at most `bound`.
template <class Exact, class Wanted> void sweep(Vector function, Exact exact, Wanted wanted, double bound) {
  std::vector<float> ys(sample().size());
  function(sample().data(), ys.data(), static_cast<int64_t>(ys.size()));
  double worst = 0;
  float where = 0;
  for (size_t i = 0; i < ys.size(); ++i) {
    const float x = sample()[i];
    if (!wanted(x)) continue;
    const double error = ulps(ys[i], exact(static_cast<double>(x)));
    if (error > worst) worst = error, where = x;
  }
  EXPECT_LE(worst, bound) << "at " << where;
}
constexpr auto kEvery = [](float) { return true; };

TEST(SimdMath, Exp) {
  on_every_target([] {
    sweep(
        HWY_DYNAMIC_DISPATCH(vector_exp), [](double x) { return std::exp(x); }, kEvery, 1.1);
  });
}

TEST(SimdMath, ExpNonpositive) {
  const auto normal = [](float x) { return std::isnan(x) || (x <= 0 && x >= -87.3f); };
  on_every_target([&] {
    sweep(
        HWY_DYNAMIC_DISPATCH(vector_exp_nonpositive), [](double x) { return std::exp(x); }, normal, 1.1);
    const float low[] = {-87.69f, -88.0f, -104.0f, -1e30f, -HUGE_VALF};
    float y[5];
    HWY_DYNAMIC_DISPATCH(vector_exp_nonpositive)(low, y, 5);
    for (const float v : y) EXPECT_EQ(v, 0.0f);
  });
}

TEST(SimdMath, Tanh) {
  on_every_target([] {
    sweep(
        HWY_DYNAMIC_DISPATCH(vector_tanh), [](double x) { return std::tanh(x); }, kEvery, 2.6);
  });
}

TEST(SimdMath, Sigmoid) {
  const auto exact = [](double x) { return 1 / (1 + std::exp(-x)); };
  const auto normal = [](float x) { return !(x < -87.3f); };
  on_every_target([&] {
    sweep(HWY_DYNAMIC_DISPATCH(vector_sigmoid), exact, normal, 2.5);
    const float low[] = {-89.0f, -1e30f, -HUGE_VALF};
    float y[3];
    HWY_DYNAMIC_DISPATCH(vector_sigmoid)(low, y, 3);
    for (const float v : y) EXPECT_EQ(v, 0.0f);
  });
}

TEST(SimdMath, Log) {
  on_every_target([] {
    sweep(
        HWY_DYNAMIC_DISPATCH(vector_log), [](double x) { return std::log(x); }, kEvery, 0.9);
  });
}

TEST(SimdMath, MaximumKeepsNan) {
  on_every_target([] {
    const float x[] = {NAN, -1.0f, 2.0f};
    float y[3];
    HWY_DYNAMIC_DISPATCH(vector_maximum)(x, y, 3);
    EXPECT_TRUE(std::isnan(y[0]));
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], 2.0f);
  });
}

// All bf16 values, and f32 values at, just below and just above the middle between two.
TEST(Simd, Bf16RoundsToNearestEven) {
  std::vector<float> xs;
  for (uint32_t upper = 0; upper < 0x10000; ++upper) {
    for (const uint32_t lower : {0x0000u, 0x0001u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
      xs.push_back(std::bit_cast<float>(upper << 16 | lower));
    }
  }
  on_every_target([&] {
    std::vector<bf16> halves(xs.size());
    std::vector<float> back(xs.size());
    HWY_DYNAMIC_DISPATCH(to_bf16)(xs.data(), halves.data(), static_cast<int64_t>(xs.size()));
    HWY_DYNAMIC_DISPATCH(from_bf16)(halves.data(), back.data(), static_cast<int64_t>(xs.size()));
    for (size_t i = 0; i < xs.size(); ++i) {
      ASSERT_EQ(halves[i].bits, bf16(xs[i]).bits) << xs[i];
      ASSERT_EQ(std::bit_cast<uint32_t>(back[i]), uint32_t{halves[i].bits} << 16);
    }
  });
}

// The last register of a row accesses only the elements of the row.
TEST(Simd, TailsStayWithinTheirRow) {
  on_every_target([] {
    for (int64_t n = 0; n <= 40; ++n) {
      std::vector<float> x(static_cast<size_t>(n)), y(static_cast<size_t>(n) + 1, 7.0f);
      std::vector<bf16> half(static_cast<size_t>(n) + 1, bf16(7.0f));
      float total = 0;
      for (int64_t i = 0; i < n; ++i) total += x[static_cast<size_t>(i)] = static_cast<float>(i) - 50.0f;
      HWY_DYNAMIC_DISPATCH(to_bf16)(x.data(), half.data(), n);
      HWY_DYNAMIC_DISPATCH(from_bf16)(half.data(), y.data(), n);
      for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], x[i]);
      EXPECT_EQ(y.back(), 7.0f);
      EXPECT_EQ(float(half.back()), 7.0f);
      float results[2];
      HWY_DYNAMIC_DISPATCH(sum_and_max)(x.data(), n, results);
      EXPECT_EQ(results[0], total);
      EXPECT_EQ(results[1], n == 0 ? -HUGE_VALF : x.back());
    }
  });
}

TEST(Simd, RandomWordsAreThoseOfTheCounter) {
  on_every_target([] {
    for (const uint64_t block : {uint64_t{0}, uint64_t{123456}, uint64_t{0xFFFFFFFB}, uint64_t{0x7FFFFFFFC}}) {
      std::vector<uint32_t> words;
      HWY_DYNAMIC_DISPATCH(draw_words)(block, &words);
      for (size_t i = 0; i < words.size(); ++i) {
        EXPECT_EQ(words[i], random_word(0x0123456789ABCDEF, 0xFEDCBA9876543210, 4 * block + i));
      }
    }
  });
}

}  // namespace
}  // namespace fovea::cpu
#endif  // HWY_ONCE
