// The cross-entropy of a softmax with label smoothing (Szegedy et al. 2016). Each row of logits is read once, in blocks
// that stay in the L1 cache; no tensor of the size of the logits is written.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/reduce/cross_entropy.cpp"
#include <cmath>

#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

struct LogitRow {
  float lse;    // log-sum-exp
  double mean;  // of the logits
};

template <class T> LogitRow read_logits(const T* x, int64_t n) {
  float largest = -HUGE_VALF;
  double exponentials = 0, logits = 0;  // sum of exp(x - largest), and of x
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    Floats running_max(largest), total(0);
    each_register(begin, end, [&](int64_t i, auto lanes) {
      const Floats v = load(x + i, lanes);
      running_max = maximum(running_max, mask_lanes(v, lanes, Floats(-HUGE_VALF)));
      total += v;  // v is 0 past the end
    });
    logits += sum(total);
    const float before = largest;
    largest = max(running_max);
    if (largest == -HUGE_VALF) continue;
    exponentials *= std::exp(static_cast<double>(before) - largest);
    const Floats shift(largest);
    exponentials +=
        row_sum(begin, end, [&](int64_t i, auto lanes) { return exp_nonpositive(load(x + i, lanes) - shift); });
  }
  return {largest + static_cast<float>(std::log(exponentials)), logits / static_cast<double>(n)};
}

void cross_entropy(const CrossEntropyArgs& args) {
  const int64_t rows = args.targets.size(), classes = args.logits.dim(-1);
  const int32_t* targets = args.targets.data<int32_t>();
  float *loss = args.loss.data<float>(), *lse = args.lse.data<float>();
  with_type_of(args.logits, [&]<class T>(T) {
    each_row(rows, 4 * classes, [&](int64_t n) {
      const T* logits = args.logits.data<T>() + n * classes;
      const LogitRow row = read_logits(logits, classes);
      lse[n] = row.lse;
      loss[n] = 0;
      if (targets[n] == args.ignore) return;
      loss[n] = (1 - args.smoothing) * (row.lse - static_cast<float>(logits[targets[n]]));
      if (args.smoothing != 0) loss[n] += args.smoothing * static_cast<float>(row.lse - row.mean);
    });
  });
}

// dlogits = dloss (p - q), where q is the smoothed target distribution.
void cross_entropy_grad(const CrossEntropyGradArgs& args) {
  if (!args.dlogits) return;
  const int64_t rows = args.targets.size(), classes = args.logits.dim(-1);
  const int32_t* targets = args.targets.data<int32_t>();
  const float *lse = args.lse.data<float>(), *dloss = args.dloss.data<float>();
  const float share = args.smoothing / static_cast<float>(classes);  // of q, for each class
  const bool in_place = args.dlogits.raw() == args.logits.raw();
  with_type_of(args.logits, [&]<class T>(T) {
    each_row(rows, 2 * classes, [&](int64_t n) {
      const T* logits = args.logits.data<T>() + n * classes;
      T* dlogits = args.dlogits.data<T>() + n * classes;
      if (targets[n] == args.ignore) {
        if (in_place) std::fill_n(dlogits, classes, T(0.0f));
        return;
      }
      T& at_target = dlogits[targets[n]];
      const float before = in_place ? 0.0f : static_cast<float>(at_target);
      const float p_target = std::exp(static_cast<float>(logits[targets[n]]) - lse[n]);
      const Floats d(dloss[n]), shift(lse[n]), q(share), zero(0.0f);
      each_register(classes, [&](int64_t i, auto lanes) {
        const Floats p = exp_nonpositive(load(logits + i, lanes) - shift);
        store(mul_add(d, p - q, in_place ? zero : load(dlogits + i, lanes)), dlogits + i, lanes);
      });
      at_target = T(before + dloss[n] * (p_target - (share + (1 - args.smoothing))));
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(cross_entropy, CrossEntropyArgs)
FOVEA_DISPATCH(cross_entropy_grad, CrossEntropyGradArgs)
}  // namespace fovea::cpu
#endif
