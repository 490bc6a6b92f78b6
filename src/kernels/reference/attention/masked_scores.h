// The mask and the softmax of one row, for softmax, sparsemax and dot-product attention.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "kernels/reference/common/elements.h"

namespace fovea::reference {

// Returns the masked score: -inf if the key is masked (whatever the score is), else score + bias.
template <class T> class Masked {
 public:
  explicit Masked(const Mask& mask) : mask_(mask) {}

  T operator()(T score, int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (mask_.lengths && s >= mask_.lengths.data<int32_t>()[b]) return -kInfinity<T>;
    if (mask_.causal && s > t + mask_.offset) return -kInfinity<T>;
    if (!mask_.bias) return score;
    const int64_t batch = mask_.bias.dim(0), heads = mask_.bias.dim(1), queries = mask_.bias.dim(2);
    const auto bias_of = view<T>(mask_.bias, batch, heads, queries, mask_.bias.dim(3));
    const T bias = bias_of(b % batch, h % heads, t % queries, s);  // an axis of size one is broadcast
    return bias == -kInfinity<T> ? bias : score + bias;
  }

 private:
  const Mask& mask_;
};

// The softmax of one row of masked scores. The maximum is subtracted so that exp cannot overflow. A row whose keys are
// all masked has weights 0; their logarithms and the log-sum-exp are -inf.
template <class T> class RowSoftmax {
 public:
  explicit RowSoftmax(std::span<const T> scores) {
    for (const T score : scores) largest_ = std::max(largest_, score);
    if (largest_ == -kInfinity<T>) return;
    for (const T score : scores) sum_ += std::exp(score - largest_);
  }
  T weight(T score) const { return empty() ? T(0) : std::exp(score - largest_) / sum_; }
  T log_weight(T score) const { return empty() ? -kInfinity<T> : score - largest_ - std::log(sum_); }
  T log_sum_exp() const { return empty() ? -kInfinity<T> : largest_ + std::log(sum_); }

 private:
  bool empty() const { return largest_ == -kInfinity<T>; }

  T largest_ = -kInfinity<T>, sum_ = 0;
};

}  // namespace fovea::reference
