// Distributions over the last axis of scores: softmax and sparsemax (Martins & Astudillo 2016). Each team of threads
// processes one row.
#include "kernels/cuda/attention/mask.h"
#include "kernels/cuda/functions.h"

namespace fovea::cuda {

namespace {

// One row of scores [B,H,T,S] with its mask.
template <class T> struct ScoreRow {
  const T* x;
  MaskView mask;
  int64_t b, h, t, end;

  __device__ ScoreRow(const T* scores, const MaskView& view, int64_t row, int64_t heads, int64_t queries)
      : x(scores + row * view.keys),
        mask(view),
        b(row / queries / heads),
        h(row / queries % heads),
        t(row % queries),
        end(view.end(b, t)) {}
  __device__ float operator()(int64_t s) const { return mask(load(x + s), b, h, t, s); }
};

template <int kTeam, class T> __device__ float largest_of(const ScoreRow<T>& row) {
  float largest = -kInfinity;
  for (int64_t s = threadIdx.x; s < row.end; s += kTeam) largest = fmaxf(largest, row(s));
  return Team<kTeam>::largest(largest);
}

template <int kTeam, class T>
__global__ void softmax_kernel(const T* x, T* y, int64_t rows, int64_t heads, int64_t queries, MaskView mask,
                               bool log) {
  const int64_t n = team_row();
  if (n >= rows) return;
  const ScoreRow<T> row(x, mask, n, heads, queries);
  y += n * mask.keys;
  const float largest = largest_of<kTeam>(row), absent = log ? -kInfinity : 0.0f;
  if (largest == -kInfinity) {
    for (int64_t s = threadIdx.x; s < mask.keys; s += kTeam) store(y + s, absent);
    return;
  }
  float sum = 0.0f;
  for (int64_t s = threadIdx.x; s < row.end; s += kTeam) sum += expf(row(s) - largest);
  sum = Team<kTeam>::sum(sum);
  const float log_sum = logf(sum);
  for (int64_t s = threadIdx.x; s < mask.keys; s += kTeam) {
    const float score = s < row.end ? row(s) : -kInfinity;
    store(y + s, log ? score - largest - log_sum : expf(score - largest) / sum);
  }
}

// dx = y (dy - sum y dy), and for the logarithm dx = dy - exp(y) sum dy, over the unmasked keys.
template <int kTeam, class T>
__global__ void softmax_grad_kernel(const T* y, const T* dy, T* dx, int64_t rows, int64_t keys, bool log) {
  const int64_t row = team_row();
  if (row >= rows) return;
  y += row * keys;
  dy += row * keys;
  dx += row * keys;
  const float absent = log ? -kInfinity : 0.0f;
  float sum = 0.0f;
  for (int64_t s = threadIdx.x; s < keys; s += kTeam) {
    const float value = load(y + s);
    if (value != absent) sum += log ? load(dy + s) : value * load(dy + s);
  }
  sum = Team<kTeam>::sum(sum);
  for (int64_t s = threadIdx.x; s < keys; s += kTeam) {
    const float value = load(y + s), d = load(dy + s);
    if (value != absent) add(dx + s, log ? d - expf(value) * sum : value * (d - sum));
  }
}

// Computes the threshold tau for which the sum of max(0, z - tau) is 1, by Michelot's iteration on z = score - largest:
// tau = (sum of the support - 1) / size of the support, where the support is the set of z above the previous tau. The
// support only shrinks, and tau is exact when it no longer does.
template <int kTeam, class T>
__global__ void sparsemax_kernel(const T* x, T* y, int64_t rows, int64_t heads, int64_t queries, MaskView mask) {
  const int64_t n = team_row();
  if (n >= rows) return;
  const ScoreRow<T> row(x, mask, n, heads, queries);
  y += n * mask.keys;
  const float largest = largest_of<kTeam>(row);
  float threshold = -1.0f;
  for (int64_t before = mask.keys + 1; largest > -kInfinity;) {
    float sum = 0.0f;
    int count = 0;
    for (int64_t s = threadIdx.x; s < row.end; s += kTeam) {
      const float z = row(s) - largest;
      if (z <= threshold) continue;
      sum += z;
      ++count;
    }
    sum = Team<kTeam>::sum(sum);
    count = Team<kTeam>::sum(count);
    if (count == 0 || count >= before) break;
    before = count;
    threshold = (sum - 1.0f) / static_cast<float>(count);
  }
  for (int64_t s = threadIdx.x; s < mask.keys; s += kTeam) {
    const float z = s < row.end && largest > -kInfinity ? row(s) - largest : -kInfinity;
    store(y + s, fmaxf(0.0f, z - threshold));
  }
}

// On the support, dx = dy - the mean of dy over the support.
template <int kTeam, class T>
__global__ void sparsemax_grad_kernel(const T* y, const T* dy, T* dx, int64_t rows, int64_t keys) {
  const int64_t row = team_row();
  if (row >= rows) return;
  y += row * keys;
  dy += row * keys;
  dx += row * keys;
  float sum = 0.0f;
  int count = 0;
  for (int64_t s = threadIdx.x; s < keys; s += kTeam) {
    if (!(load(y + s) > 0.0f)) continue;
    sum += load(dy + s);
    ++count;
  }
  sum = Team<kTeam>::sum(sum);
  count = Team<kTeam>::sum(count);
  for (int64_t s = threadIdx.x; s < keys; s += kTeam) {
    if (load(y + s) > 0.0f) add(dx + s, load(dy + s) - sum / static_cast<float>(count));
  }
}

int64_t rows_of(const ScoreShape& shape) { return shape.batch * shape.heads * shape.queries; }

}  // namespace

void softmax(Stream& stream, const SoftmaxArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.x, [&]<class T>(T) {
    with_team(shape.keys, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, softmax_kernel<kTeam, T>, rows_grid<kTeam>(rows_of(shape)), args.x.data<T>(), args.y.data<T>(),
             rows_of(shape), shape.heads, shape.queries, MaskView(args.mask, shape.keys), args.log);
    });
  });
}

void softmax_grad(Stream& stream, const SoftmaxGradArgs& args) {
  if (!args.dx) return;
  const int64_t rows = rows_of(args.shape), keys = args.shape.keys;
  with_type_of(args.y, [&]<class T>(T) {
    with_team(keys, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, softmax_grad_kernel<kTeam, T>, rows_grid<kTeam>(rows), args.y.data<T>(), args.dy.data<T>(),
             args.dx.data<T>(), rows, keys, args.log);
    });
  });
}

void sparsemax(Stream& stream, const SparsemaxArgs& args) {
  const ScoreShape& shape = args.shape;
  with_type_of(args.x, [&]<class T>(T) {
    with_team(shape.keys, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, sparsemax_kernel<kTeam, T>, rows_grid<kTeam>(rows_of(shape)), args.x.data<T>(), args.y.data<T>(),
             rows_of(shape), shape.heads, shape.queries, MaskView(args.mask, shape.keys));
    });
  });
}

void sparsemax_grad(Stream& stream, const SparsemaxGradArgs& args) {
  if (!args.dx) return;
  const int64_t rows = rows_of(args.shape), keys = args.shape.keys;
  with_type_of(args.y, [&]<class T>(T) {
    with_team(keys, [&](auto team) {
      constexpr int kTeam = decltype(team)::value;
      launch(stream, sparsemax_grad_kernel<kTeam, T>, rows_grid<kTeam>(rows), args.y.data<T>(), args.dy.data<T>(),
             args.dx.data<T>(), rows, keys);
    });
  });
}

}  // namespace fovea::cuda
