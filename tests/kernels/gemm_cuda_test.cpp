// CUDA GEMMs against the reference: all shapes, mixtures of dtypes, batches and strides.
#include "kernels/card.h"
#include "kernels/products.h"

namespace fovea::testing {
namespace {

void check_product(const ProductCase& p) {
  const bool narrow = p.a == DType::kBF16 || p.b == DType::kBF16 || p.precision != Precision::kF32;
  // If rounding is allowed, the bias is rounded as well: two roundings of half a unit each.
  const bool rounds_bias = p.bias && p.c == DType::kBF16 && p.precision != Precision::kF32;
  const double epsilon =
      p.c == DType::kBF16 || narrow ? (rounds_bias ? 2 : 1) * kBf16 : kF32 * (16 + static_cast<double>(p.k) / 64);
  expect_right(text_of(p), DType::kF32, epsilon, [&](Maker& make) -> std::vector<Tensor> {
    MatmulArgs args = p.product([&](int64_t rows, int64_t columns, DType dtype) {
      Matrix x = p.layout(rows, columns);
      x.tensor = make.typed({p.elements(rows, columns)}, dtype);
      return x;
    });
    if (p.bias) args.bias = make.parameter({p.bias_size()});
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
  for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kInt8}) {
    for (const ProductCase& each : product_mixtures(precision)) check_product(each);
  }
}

TEST_F(Cuda, ProductsOfBatchesAndStrides) {
  for (const int64_t k : {35, 0}) {
    for (ProductCase each : product_batches(Precision::kF32)) {
      each.k = k;
      check_product(each);
    }
  }
  // With rounding, as the layers of a model use it.
  for (ProductCase each : product_batches(Precision::kBF16)) {
    each.n = 40;
    each.weight = true;
    check_product(each);
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
