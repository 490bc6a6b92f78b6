// c[g] (+)= alpha * a[g] b[g] + bias. Factors of any dtype are converted to f64, summed in f64 and rounded once, when c
// is written; `precision` has no effect.
#include <vector>

#include "kernels/reference/common/elements.h"
#include "kernels/reference/functions.h"

namespace fovea::reference {

namespace {

// Matrix g of a batch as it enters the product: [rows, columns], with strides and transposition resolved.
std::vector<double> factor(const Matrix& x, int64_t g, int64_t rows, int64_t columns) {
  std::vector<double> dense(static_cast<size_t>(rows * columns));
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      const int64_t within = x.transposed ? j * x.row_stride + i : i * x.row_stride + j;
      dense[static_cast<size_t>(i * columns + j)] = load(x.tensor, x.offset + g * x.batch_stride + within);
    }
  }
  return dense;
}

}  // namespace

void matmul(Stream&, const MatmulArgs& args) {
  const int64_t m = args.m, n = args.n, k = args.k;
  for (int64_t g = 0; g < args.batch; ++g) {
    const std::vector<double> a = factor(args.a, g, m, k), b = factor(args.b, g, k, n);
    for (int64_t i = 0; i < m; ++i) {
      std::vector<double> row(static_cast<size_t>(n));
      for (int64_t l = 0; l < k; ++l) {
        const double scale = a[static_cast<size_t>(i * k + l)];
        const double* from = b.data() + l * n;
        for (int64_t j = 0; j < n; ++j) row[static_cast<size_t>(j)] += scale * from[j];
      }
      for (int64_t j = 0; j < n; ++j) {
        const int64_t at = args.c.offset + g * args.c.batch_stride + i * args.c.row_stride + j;
        double sum = args.alpha * row[static_cast<size_t>(j)];
        if (args.bias) sum += load(args.bias, g * args.bias_stride() + j);
        if (args.accumulate) sum += load(args.c.tensor, at);
        store(args.c.tensor, at, sum);
      }
    }
  }
}

}  // namespace fovea::reference
