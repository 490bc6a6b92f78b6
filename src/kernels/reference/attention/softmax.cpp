// Distributions over the last axis: softmax and sparsemax (Martins & Astudillo 2016).
#include <functional>
#include <vector>

#include "kernels/reference/attention/masked_scores.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Calls body(masked scores [S], y [S]) for each row of x and y [B,H,T,S].
template <class T, class Args, class Body> void for_each_row(const Args& args, Body body) {
  const ScoreShape& shape = args.shape;
  const auto x = view<T>(args.x, shape.batch, shape.heads, shape.queries, shape.keys);
  const Masked<T> masked(args.mask);
  std::vector<T> scores(static_cast<size_t>(shape.keys));
  T* y = args.y.template data<T>();
  for (int64_t b = 0; b < shape.batch; ++b)
    for (int64_t h = 0; h < shape.heads; ++h)
      for (int64_t t = 0; t < shape.queries; ++t, y += shape.keys) {
        for (int64_t s = 0; s < shape.keys; ++s) scores[static_cast<size_t>(s)] = masked(x(b, h, t, s), b, h, t, s);
        body(std::span<const T>(scores), std::span<T>(y, scores.size()));
      }
}

// Calls body(y, dy, dx), each [S], for each row of a gradient.
template <class T, class Args, class Body> void for_each_row_grad(const Args& args, Body body) {
  const int64_t rows = args.shape.batch * args.shape.heads * args.shape.queries;
  const size_t keys = static_cast<size_t>(args.shape.keys);
  const auto row = [keys](const Tensor& x, int64_t n) {
    return std::span<T>(x.data<T>() + static_cast<size_t>(n) * keys, keys);
  };
  for (int64_t n = 0; args.dx && n < rows; ++n) body(row(args.y, n), row(args.dy, n), row(args.dx, n));
}

// Returns the threshold tau for which the sum of max(0, z - tau) is 1: with the k largest z as support, tau = (their
// sum - 1) / k, for the largest k whose smallest element exceeds tau.
template <class T> T sparsemax_threshold(std::span<const T> scores) {
  std::vector<T> z(scores.begin(), scores.end());
  std::sort(z.begin(), z.end(), std::greater<T>());
  T sum = 0, threshold = 0;
  for (size_t k = 0; k < z.size() && z[k] > -kInfinity<T>; ++k) {
    sum += z[k];
    const T next = (sum - 1) / static_cast<T>(k + 1);
    if (z[k] <= next) break;
    threshold = next;
  }
  return threshold;
}

}  // namespace

void softmax(Stream&, const SoftmaxArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    for_each_row<T>(args, [&](std::span<const T> scores, std::span<T> y) {
      const RowSoftmax<T> row(scores);
      for (size_t s = 0; s < y.size(); ++s) y[s] = args.log ? row.log_weight(scores[s]) : row.weight(scores[s]);
    });
  });
}

// dx = y (dy - sum y dy), and for the logarithm dx = dy - exp(y) sum dy, over the unmasked keys.
void softmax_grad(Stream&, const SoftmaxGradArgs& args) {
  with_type_of(args.y, [&]<class T>(T) {
    for_each_row_grad<T>(args, [&](std::span<const T> y, std::span<const T> dy, std::span<T> dx) {
      const T absent = args.log ? -kInfinity<T> : T(0);
      T sum = 0;
      for (size_t s = 0; s < y.size(); ++s)
        if (y[s] != absent) sum += args.log ? dy[s] : y[s] * dy[s];
      for (size_t s = 0; s < y.size(); ++s)
        if (y[s] != absent) dx[s] += args.log ? dy[s] - std::exp(y[s]) * sum : y[s] * (dy[s] - sum);
    });
  });
}

void sparsemax(Stream&, const SparsemaxArgs& args) {
  with_type_of(args.x, [&]<class T>(T) {
    for_each_row<T>(args, [&](std::span<const T> scores, std::span<T> y) {
      const T threshold = sparsemax_threshold(scores);
      for (size_t s = 0; s < y.size(); ++s) y[s] = std::max(T(0), scores[s] - threshold);
    });
  });
}

// On the support, dx = dy - the mean of dy over the support; elsewhere the output stays 0.
void sparsemax_grad(Stream&, const SparsemaxGradArgs& args) {
  with_type_of(args.y, [&]<class T>(T) {
    for_each_row_grad<T>(args, [&](std::span<const T> y, std::span<const T> dy, std::span<T> dx) {
      T sum = 0, count = 0;
      for (size_t s = 0; s < y.size(); ++s)
        if (y[s] > 0) {
          sum += dy[s];
          count += 1;
        }
      for (size_t s = 0; s < y.size(); ++s)
        if (y[s] > 0) dx[s] += dy[s] - sum / count;
    });
  });
}

}  // namespace fovea::reference
