// Sampling of an index of each row, and the k largest elements of each row, for beam search. Most elements are far
// below the k-th largest, so a register is only compared with it and examined if one of its lanes is larger.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/indexing/sampling.cpp"
#include <limits>

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/functions.h"
#include "kernels/sample_index.h"

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {
namespace {

// The k largest elements so far, in descending order.
template <class T> class Largest {
 public:
  Largest(T* values, int32_t* index, int64_t k) : values_(values), index_(index), k_(k) {
    std::fill(values, values + k, T(-std::numeric_limits<float>::infinity()));
    std::fill(index, index + k, -1);
  }
  float least() const { return static_cast<float>(values_[k_ - 1]); }
  bool full() const { return index_[k_ - 1] >= 0; }
  void offer(T value, int64_t at) {
    const float x = static_cast<float>(value);
    int64_t place = k_;
    while (place > 0 && (index_[place - 1] < 0 || static_cast<float>(values_[place - 1]) < x)) --place;
    if (place == k_ || x != x) return;
    for (int64_t i = k_ - 1; i > place; --i) {
      values_[i] = values_[i - 1];
      index_[i] = index_[i - 1];
    }
    values_[place] = value;
    index_[place] = static_cast<int32_t>(at);
  }

 private:
  T* values_;
  int32_t* index_;
  int64_t k_;
};

void top_k(const TopKArgs& args) {
  const int64_t width = args.x.dim(-1), rows = args.index.size() / args.k;
  with_type_of(args.x, [&]<class T>(T) {
    each_row(rows, width, [&](int64_t row) {
      const T* x = args.x.data<T>() + row * width;
      Largest<T> largest(args.values.data<T>() + row * args.k, args.index.data<int32_t>() + row * args.k, args.k);
      int64_t i = 0;
      for (; i + kLanes <= width; i += kLanes) {
        if (largest.full() && hn::AllFalse(FloatTag(), hn::Gt(load(x + i).v, Floats(largest.least()).v))) continue;
        for (int64_t j = i; j < i + kLanes; ++j) largest.offer(x[j], j);
      }
      for (; i < width; ++i) largest.offer(x[i], i);
    });
  });
}

void sample(const SampleArgs& args) {
  const int64_t width = args.weights.dim(-1), rows = width == 0 ? 0 : args.weights.size() / width;
  with_type_of(args.weights, [&]<class T>(T) {
    each_row(rows, width, [&](int64_t row) {
      const int64_t pick = sample_index(args.weights.data<T>() + row * width, width, args.random, row);
      T* chosen = args.one_hot.data<T>() + row * width;
      std::fill(chosen, chosen + width, T(0.0f));
      if (pick >= 0) chosen[pick] = T(1.0f);
    });
  });
}

}  // namespace
}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace fovea::cpu {
FOVEA_DISPATCH(sample, SampleArgs)
FOVEA_DISPATCH(top_k, TopKArgs)
}  // namespace fovea::cpu
#endif
