// GEMM cases for all backends.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "kernels/kernels.h"

namespace fovea::testing {

// One GEMM: its arguments and the layout of its matrices.
struct ProductCase {
  int64_t m = 1, n = 1, k = 1, batch = 1;
  bool ta = false, tb = false;
  DType a = DType::kF32, b = DType::kF32, c = DType::kF32;
  bool interleaved = false;  // [rows, batch, columns] instead of [batch, rows, columns]
  int64_t gap = 0;           // elements after each row
  bool bias = false, biases = false, accumulate = false,
       weight = false;  // `biases` means one for each matrix of the batch
  float alpha = 1.0f;
  Precision precision = Precision::kF32;

  int64_t bias_size() const { return biases ? batch * n : n; }
  // A matrix without its elements, and the number of elements that it needs.
  Matrix layout(int64_t rows, int64_t columns) const {
    Matrix x{.row_stride = columns + gap, .batch_stride = rows * (columns + gap), .offset = gap};
    if (!interleaved) return x;
    x.batch_stride = x.row_stride;
    x.row_stride *= batch;
    return x;
  }
  int64_t elements(int64_t rows, int64_t columns) const { return batch * rows * (columns + gap) + gap; }
  // Returns the arguments, with matrices created by make(rows, columns, dtype) in turn.
  template <class Make> MatmulArgs product(Make&& make) const {
    MatmulArgs args{.a = make(ta ? k : m, ta ? m : k, a),
                    .b = make(tb ? n : k, tb ? k : n, b),
                    .c = make(m, n, c),
                    .m = m,
                    .n = n,
                    .k = k,
                    .batch = batch,
                    .alpha = alpha,
                    .accumulate = accumulate,
                    .precision = precision};
    args.a.transposed = ta;
    args.b.transposed = tb;
    args.b.weight = weight;
    return args;
  }
};

inline std::string text_of(const ProductCase& x) {
  return fmt::format(
      "m{} n{} k{} batch{} ta{} tb{} {} {} {} interleaved{} gap{} bias{}{} accumulate{} weight{} alpha{} {}", x.m, x.n,
      x.k, x.batch, x.ta, x.tb, x.a, x.b, x.c, x.interleaved, x.gap, x.bias, x.biases ? " each" : "", x.accumulate,
      x.weight, x.alpha, static_cast<int>(x.precision));
}

// All mixtures of dtypes, with and without a bias, alpha, accumulation and a weight.
inline std::vector<ProductCase> product_mixtures(Precision precision) {
  std::vector<ProductCase> all;
  for (int bits = 0; bits < 128; ++bits) {
    const auto type = [&](int bit) { return bits >> bit & 1 ? DType::kBF16 : DType::kF32; };
    all.push_back({.m = 19,
                   .n = 45,
                   .k = 39,
                   .tb = true,
                   .a = type(0),
                   .b = type(1),
                   .c = type(2),
                   .bias = (bits >> 3 & 1) != 0,
                   .accumulate = (bits >> 4 & 1) != 0,
                   .weight = (bits >> 6 & 1) != 0,
                   .alpha = bits >> 5 & 1 ? -0.37f : 1.0f,
                   .precision = precision});
  }
  return all;
}

// Batches in all layouts.
inline std::vector<ProductCase> product_batches(Precision precision) {
  std::vector<ProductCase> all;
  for (int bits = 0; bits < 64; ++bits) {
    const DType type = bits & 1 ? DType::kBF16 : DType::kF32;
    all.push_back({.m = 11,
                   .n = 37,
                   .k = 35,
                   .batch = 7,
                   .ta = (bits & 2) != 0,
                   .tb = (bits & 4) != 0,
                   .a = type,
                   .b = type,
                   .c = type,
                   .interleaved = (bits & 8) != 0,
                   .gap = bits & 16 ? 5 : 0,
                   .bias = true,
                   .biases = (bits & 32) != 0,
                   .accumulate = true,
                   .precision = precision});
  }
  return all;
}

}  // namespace fovea::testing
