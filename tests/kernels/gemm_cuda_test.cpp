// Products on the card against the reference: every shape, mixture of dtypes, batch and stride.
#include "kernels/card.h"

namespace fovea::testing {
namespace {

struct ProductCase {
  int64_t m, n, k, batch = 1;
  bool ta = false, tb = false;
  DType a = DType::kF32, b = DType::kF32, c = DType::kF32;
  bool interleaved = false;
  int64_t gap = 0;
  bool bias = false, accumulate = false, weight = false;
  float alpha = 1.0f;
  Precision precision = Precision::kF32;
};

void check_product(const ProductCase& p) {
  const auto matrix = [&](Maker& make, int64_t rows, int64_t columns, DType dtype) {
    Matrix x{.tensor = make.typed({p.batch * rows * (columns + p.gap) + p.gap}, dtype),
             .row_stride = columns + p.gap,
             .batch_stride = rows * (columns + p.gap),
             .offset = p.gap};
    if (p.interleaved) {
      x.batch_stride = x.row_stride;
      x.row_stride *= p.batch;
    }
    return x;
  };
  const bool narrow = p.a == DType::kBF16 || p.b == DType::kBF16 || p.precision != Precision::kF32;
  // Where rounding is allowed, a bias is rounded like what it is added to: two roundings, each of half a unit.
  const bool rounds_bias = p.bias && p.c == DType::kBF16 && p.precision != Precision::kF32;
  const double epsilon =
      p.c == DType::kBF16 || narrow ? (rounds_bias ? 2 : 1) * kBf16 : kF32 * (16 + static_cast<double>(p.k) / 64);
  const std::string name =
      fmt::format("m{} n{} k{} batch{} ta{} tb{} {} {} {} interleaved{} gap{} bias{} accumulate{} weight{} alpha{} {}",
                  p.m, p.n, p.k, p.batch, p.ta, p.tb, p.a, p.b, p.c, p.interleaved, p.gap, p.bias, p.accumulate,
                  p.weight, p.alpha, static_cast<int>(p.precision));
  expect_right(name, DType::kF32, epsilon, [&](Maker& make) -> std::vector<Tensor> {
    MatmulArgs args{.a = matrix(make, p.ta ? p.k : p.m, p.ta ? p.m : p.k, p.a),
                    .b = matrix(make, p.tb ? p.n : p.k, p.tb ? p.k : p.n, p.b),
                    .c = matrix(make, p.m, p.n, p.c),
                    .bias = p.bias ? make.parameter({p.n}) : Tensor(),
                    .m = p.m,
                    .n = p.n,
                    .k = p.k,
                    .batch = p.batch,
                    .alpha = p.alpha,
                    .accumulate = p.accumulate,
                    .precision = p.precision};
    args.a.transposed = p.ta;
    args.b.transposed = p.tb;
    args.b.weight = p.weight;
    make.table().matmul(make.queue(), args);
    return {args.c.tensor};
  });
}

TEST_F(Cuda, ProductsOfEveryShape) {
  constexpr int64_t kShapes[][3] = {{1, 1, 1},     {1, 33, 65},  {2, 31, 1},   {13, 7, 37},
                                    {16, 64, 64},  {33, 70, 63}, {47, 1, 129}, {64, 128, 96},
                                    {67, 257, 97}, {5, 300, 70}, {9, 40, 1100}};
  for (const auto& [m, n, k] : kShapes) {
    for (int form = 0; form < 4; ++form) {
      for (const DType type : {DType::kF32, DType::kBF16}) {
        check_product(
            {.m = m, .n = n, .k = k, .ta = (form & 1) != 0, .tb = (form & 2) != 0, .a = type, .b = type, .c = type});
      }
      check_product(
          {.m = m, .n = n, .k = k, .ta = (form & 1) != 0, .tb = (form & 2) != 0, .precision = Precision::kBF16});
    }
  }
}

TEST_F(Cuda, ProductsOfEveryMixture) {
  for (int bits = 0; bits < 128; ++bits) {
    const auto type = [&](int bit) { return bits >> bit & 1 ? DType::kBF16 : DType::kF32; };
    for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kInt8}) {
      check_product({.m = 19,
                     .n = 45,
                     .k = 39,
                     .tb = true,
                     .a = type(0),
                     .b = type(1),
                     .c = type(2),
                     .bias = (bits >> 3 & 1) != 0,
                     .accumulate = (bits >> 4 & 1) != 0,
                     .weight = (bits >> 5 & 1) != 0,
                     .alpha = bits >> 6 & 1 ? -0.37f : 1.0f,
                     .precision = precision});
    }
  }
}

TEST_F(Cuda, ProductsOfBatchesAndStrides) {
  for (int bits = 0; bits < 64; ++bits) {
    const DType type = bits & 1 ? DType::kBF16 : DType::kF32;
    check_product({.m = 11,
                   .n = 37,
                   .k = bits & 32 ? 0 : 35,
                   .batch = 7,
                   .ta = (bits & 2) != 0,
                   .tb = (bits & 4) != 0,
                   .a = type,
                   .b = type,
                   .c = type,
                   .interleaved = (bits & 8) != 0,
                   .gap = bits & 16 ? 5 : 0,
                   .bias = true,
                   .accumulate = true});
  }
}

TEST_F(Cuda, RoundedWeightsFollowTheirContents) {
  expect_right("changed weight", DType::kBF16, kBf16, [](Maker& make) -> std::vector<Tensor> {
    const Tensor x = make.elements({6, 40}), weight = make.parameter({30, 40}), other = make.parameter({30, 40});
    const Tensor y = make.output({6, 30}), z = make.output({6, 30});
    const auto product = [&](const Tensor& to) {
      make.table().matmul(make.queue(), {.a = {.tensor = x, .row_stride = 40},
                                         .b = {.tensor = weight, .row_stride = 40, .transposed = true, .weight = true},
                                         .c = {.tensor = to, .row_stride = 30},
                                         .m = 6,
                                         .n = 30,
                                         .k = 40,
                                         .precision = Precision::kBF16});
    };
    product(y);
    copy(other, weight);
    weight.contents_changed();
    product(z);
    return {y, z};
  });
}

}  // namespace
}  // namespace fovea::testing
