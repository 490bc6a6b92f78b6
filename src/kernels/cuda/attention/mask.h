// A Mask as a kernel parameter.
#pragma once

#include "kernels/cuda/common/device_primitives.h"

namespace fovea::cuda {

struct MaskView {
  const int32_t* lengths;
  const float* bias;
  int64_t bias_batch, bias_heads, bias_queries;  // strides, 0 for an axis that is broadcast
  int64_t keys, offset;
  bool causal;

  MaskView(const Mask& mask, int64_t key_count)
      : lengths(mask.lengths.data<int32_t>()),
        bias(mask.bias.data<float>()),
        bias_batch(0),
        bias_heads(0),
        bias_queries(0),
        keys(key_count),
        offset(mask.offset),
        causal(mask.causal) {
    if (bias == nullptr) return;
    const int64_t heads = mask.bias.dim(1), queries = mask.bias.dim(2);
    if (mask.bias.dim(0) > 1) bias_batch = heads * queries * keys;
    if (heads > 1) bias_heads = queries * keys;
    if (queries > 1) bias_queries = keys;
  }

  // Returns the number of keys of sentence b that a query at t may attend to.
  __device__ int64_t end(int64_t b, int64_t t) const {
    int64_t last = keys;
    if (lengths != nullptr && lengths[b] < last) last = lengths[b];
    if (causal && t + offset + 1 < last) last = t + offset + 1;
    return last < 0 ? 0 : last;
  }
  // Returns the masked score of a key before `end`: -inf if the bias is -inf, whatever the score is.
  __device__ float operator()(float score, int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (bias == nullptr) return score;
    const float added = bias[b * bias_batch + h * bias_heads + t * bias_queries + s];
    return added == -kInfinity ? added : score + added;
  }
};

}  // namespace fovea::cuda
