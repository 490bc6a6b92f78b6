// Sparsemax (Martins & Astudillo 2016): y = max(0, x - tau), the projection of a row onto the simplex, with tau = (sum
// over the support - 1) / size of the support. The support is found without sorting (Michelot 1986): it starts with all
// scores above the largest - 1 and is repeatedly reduced to those above the tau of the remaining ones, until it no
// longer shrinks. A score within rounding of tau could leave and return forever, so the iteration continues only while
// the support shrinks.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/sparsemax.cpp"
#include "kernels/cpu/attention/masked_score_rows.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

struct Support {
  float sum, size;
};
// The elements above tau in a row of n.
inline Support support_above(float tau, const float* x, int64_t n) {
  Floats total(0), size(0);
  const Floats bound(tau);
  each_register(n, [&](int64_t s, auto lanes) {
    const Floats v = mask_lanes(load(x + s, lanes), lanes, bound);
    total += if_greater(v, bound, v, Floats(0));
    size += if_greater(v, bound, Floats(1), Floats(0));
  });
  return {sum(total), sum(size)};
}

void sparsemax(const SparsemaxArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    each_score_row<T>(args, 0.0f, [](const ScoreRow& row, T* y) {
      // The scores are measured from the maximum, so that a large common offset costs no precision.
      const Floats largest(row.largest);
      each_register(row.visible, [&](int64_t s, auto lanes) {
        store(load(row.scores + s, lanes) - largest, row.scores + s, lanes);
      });
      float tau = -1.0f;
      for (auto size = static_cast<float>(row.visible + 1); true;) {
        const Support support = support_above(tau, row.scores, row.visible);
        if (support.size >= size || support.size == 0) break;
        size = support.size;
        tau = (support.sum - 1.0f) / size;
      }
      each_register(row.visible, [&](int64_t s, auto lanes) {
        store(maximum(load(row.scores + s, lanes) - Floats(tau), Floats(0)), y + s, lanes);
      });
    });
  });
}

// On the support, dx = dy - the mean of dy over the support; elsewhere the output stays 0.
void sparsemax_grad(const SparsemaxGradArgs& args) {
  with_type_of(args.y, [&]<class T>(T) {
    each_score_row_grad<T>(args, [&](const T* y, const T* dy, T* dx) {
      Floats total(0), size(0);
      const Floats zero(0);
      each_register(args.shape.keys, [&](int64_t s, auto lanes) {
        const Floats weight = load(y + s, lanes);
        total += if_greater(weight, zero, load(dy + s, lanes), zero);
        size += if_greater(weight, zero, Floats(1), zero);
      });
      const Floats mean(sum(total) / std::max(1.0f, sum(size)));
      each_register(args.shape.keys, [&](int64_t s, auto lanes) {
        const Floats d = if_greater(load(y + s, lanes), zero, load(dy + s, lanes) - mean, zero);
        store(load(dx + s, lanes) + d, dx + s, lanes);
      });
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(sparsemax, SparsemaxArgs)
FOVEA_DISPATCH(sparsemax_grad, SparsemaxGradArgs)
}  // namespace fovea::cpu
#endif
