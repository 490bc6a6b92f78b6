// Masked rows of scores [B,H,T,S], for softmax and sparsemax. Lengths and the causal mask hide the end of a row, so
// that a row consists of its first `visible` keys; a bias may mask any of these.
#include <cmath>

#include "kernels/cpu/common/parallel_blocks.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/common/workspace.h"

#if defined(FOVEA_KERNELS_CPU_ATTENTION_MASKED_SCORE_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FOVEA_KERNELS_CPU_ATTENTION_MASKED_SCORE_ROWS_H_
#undef FOVEA_KERNELS_CPU_ATTENTION_MASKED_SCORE_ROWS_H_
#else
#define FOVEA_KERNELS_CPU_ATTENTION_MASKED_SCORE_ROWS_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace fovea::cpu::HWY_NAMESPACE {

struct RowMask {
  int64_t visible;    // number of keys that lengths and causality leave
  const float* bias;  // [S], null if there is none
};

inline RowMask mask_of_row(const Mask& mask, const ScoreShape& shape, int64_t row) {
  const int64_t t = row % shape.queries, h = row / shape.queries % shape.heads, b = row / shape.queries / shape.heads;
  int64_t visible = shape.keys;
  if (mask.lengths) visible = std::min<int64_t>(visible, mask.lengths.data<int32_t>()[b]);
  if (mask.causal) visible = std::min(visible, t + mask.offset + 1);
  const float* bias = nullptr;
  if (mask.bias) {  // an axis of size one is broadcast
    const int64_t batch = mask.bias.dim(0), heads = mask.bias.dim(1), queries = mask.bias.dim(2);
    bias = mask.bias.data<float>() + ((b % batch * heads + h % heads) * queries + t % queries) * shape.keys;
  }
  return {std::max<int64_t>(0, visible), bias};
}

// The visible scores of a row with the bias added (-inf if it masks the key), and their maximum.
struct ScoreRow {
  float* scores;
  int64_t visible;
  float largest;
};

template <class T> ScoreRow read_scores(const T* x, const RowMask& mask) {
  float* scores = workspace<float, struct MaskedScores>(static_cast<size_t>(mask.visible));
  const Floats hidden(-HUGE_VALF);
  Floats running_max = hidden;
  each_register(mask.visible, [&](int64_t s, auto lanes) {
    Floats score = load(x + s, lanes);
    if (mask.bias) {
      const Floats bias = load(mask.bias + s, lanes);
      score = if_greater(bias, hidden, score + bias, hidden);
    }
    store(score, scores + s, lanes);
    running_max = maximum(running_max, mask_lanes(score, lanes, hidden));
  });
  return {scores, mask.visible, max(running_max)};
}

template <class T> void fill_row(T* y, int64_t begin, int64_t end, float value) {
  each_register(begin, end, [&](int64_t s, auto lanes) { store(Floats(value), y + s, lanes); });
}

// Calls body(row, y of the row) for each row of x and y that has an unmasked key. Other rows, and keys past the visible
// ones, are set to `absent`.
template <class T, class Args, class Body> void each_score_row(const Args& args, float absent, Body&& body) {
  const int64_t keys = args.shape.keys, rows = args.shape.batch * args.shape.heads * args.shape.queries;
  each_row(rows, 4 * keys, [&](int64_t n) {
    T* y = args.y.template data<T>() + n * keys;
    const ScoreRow row = read_scores(args.x.template data<T>() + n * keys, mask_of_row(args.mask, args.shape, n));
    if (row.largest == -HUGE_VALF) return fill_row(y, 0, keys, absent);
    body(row, y);
    fill_row(y, row.visible, keys, absent);
  });
}

// Calls body(y, dy, dx) for each row of a gradient.
template <class T, class Args, class Body> void each_score_row_grad(const Args& args, Body&& body) {
  if (!args.dx) return;
  const int64_t keys = args.shape.keys, rows = args.shape.batch * args.shape.heads * args.shape.queries;
  each_row(rows, 2 * keys, [&](int64_t n) {
    const int64_t at = n * keys;
    body(args.y.template data<T>() + at, args.dy.template data<T>() + at, args.dx.template data<T>() + at);
  });
}

}  // namespace fovea::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // FOVEA_KERNELS_CPU_ATTENTION_MASKED_SCORE_ROWS_H_
