// The masked softmax over rows of scores, or its logarithm. The maximum is subtracted so that exp cannot overflow.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/softmax.cpp"
#include <cmath>

#include "kernels/cpu/attention/masked_score_rows.h"
#include "kernels/cpu/common/simd_math.h"
#include "kernels/cpu/functions.h"
#include "kernels/cpu/reduce/deterministic_sums.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

template <class T> void softmax_row(const ScoreRow& row, T* y) {
  const Floats largest(row.largest);
  const float total = row_sum(0, row.visible, [&](int64_t s, auto lanes) {
    const Floats e = exp_nonpositive(load(row.scores + s, lanes) - largest);
    store(e, row.scores + s, lanes);
    return e;
  });
  const Floats scale(1.0f / total);
  each_register(row.visible, [&](int64_t s, auto lanes) { store(load(row.scores + s, lanes) * scale, y + s, lanes); });
}

template <class T> void log_softmax_row(const ScoreRow& row, T* y) {
  const Floats largest(row.largest);
  const Floats log_total(std::log(row_sum(
      0, row.visible, [&](int64_t s, auto lanes) { return exp_nonpositive(load(row.scores + s, lanes) - largest); })));
  each_register(row.visible,
                [&](int64_t s, auto lanes) { store(load(row.scores + s, lanes) - largest - log_total, y + s, lanes); });
}

void softmax(const SoftmaxArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    if (args.log) {
      each_score_row<T>(args, -HUGE_VALF, [](const ScoreRow& row, T* y) { log_softmax_row(row, y); });
    } else {
      each_score_row<T>(args, 0.0f, [](const ScoreRow& row, T* y) { softmax_row(row, y); });
    }
  });
}

// dx = y (dy - sum y dy), where y is not 0.
template <class T> void softmax_row_grad(int64_t keys, const T* y, const T* dy, T* dx) {
  const auto present = [&](int64_t s, Floats weight, auto lanes) {
    return if_greater(weight, Floats(0), load(dy + s, lanes), Floats(0));
  };
  const Floats along(row_sum(0, keys, [&](int64_t s, auto lanes) {
    const Floats weight = load(y + s, lanes);
    return weight * present(s, weight, lanes);
  }));
  each_register(keys, [&](int64_t s, auto lanes) {
    const Floats weight = load(y + s, lanes);
    store(mul_add(weight, present(s, weight, lanes) - along, load(dx + s, lanes)), dx + s, lanes);
  });
}

// dx = dy - exp(y) sum dy, over the elements whose y is not -inf.
template <class T> void log_softmax_row_grad(int64_t keys, const T* y, const T* dy, T* dx) {
  const auto present = [&](int64_t s, Floats log_weight, auto lanes) {
    return if_greater(log_weight, Floats(-HUGE_VALF), load(dy + s, lanes), Floats(0));
  };
  const Floats total(row_sum(0, keys, [&](int64_t s, auto lanes) { return present(s, load(y + s, lanes), lanes); }));
  each_register(keys, [&](int64_t s, auto lanes) {
    const Floats log_weight = load(y + s, lanes);
    const Floats d = present(s, log_weight, lanes) - exp_nonpositive(log_weight) * total;
    store(load(dx + s, lanes) + d, dx + s, lanes);
  });
}

void softmax_grad(const SoftmaxGradArgs& args) {
  with_type_of(args.y, [&]<class T>(T) {
    each_score_row_grad<T>(args, [&](const T* y, const T* dy, T* dx) {
      (args.log ? log_softmax_row_grad<T> : softmax_row_grad<T>)(args.shape.keys, y, dy, dx);
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(softmax, SoftmaxArgs)
FOVEA_DISPATCH(softmax_grad, SoftmaxGradArgs)
}  // namespace fovea::cpu
#endif
