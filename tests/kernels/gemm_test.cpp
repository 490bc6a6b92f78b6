// CPU GEMMs against plain loops in double: every kernel that this machine has, and the emulated tiles everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "kernels/cpu/gemm/gemm_bf16.h"
#include "kernels/products.h"

namespace fovea {
namespace {

using cpu::Bf16Kernel;
using testing::product_batches;
using testing::product_mixtures;
using testing::ProductCase;

// Restores the kernel and the number of threads.
class Settings {
 public:
  ~Settings() {
    cpu::set_bf16_kernel(kernel_);
    set_thread_count(threads_);
  }

 private:
  Bf16Kernel kernel_ = cpu::bf16_kernel();
  int threads_ = thread_count();
};

std::vector<Bf16Kernel> bf16_kernels() {
  std::vector<Bf16Kernel> all;
  for (const Bf16Kernel kernel : {Bf16Kernel::kEmulated, Bf16Kernel::kAvx512, Bf16Kernel::kAmx}) {
    if (cpu::available(kernel)) all.push_back(kernel);
  }
  return all;
}

double value_at(const Tensor& x, int64_t i) {
  return x.dtype() == DType::kBF16 ? static_cast<float>(x.data<bf16>()[i]) : x.data<float>()[i];
}
void set_value(const Tensor& x, int64_t i, double value) {
  if (x.dtype() == DType::kBF16) {
    x.data<bf16>()[i] = bf16(static_cast<float>(value));
  } else {
    x.data<float>()[i] = static_cast<float>(value);
  }
}

constexpr double kGap = 1e30;  // fills the gaps between rows: a read changes a result, and a write is detected

Matrix random_matrix(const ProductCase& x, int64_t rows, int64_t columns, DType dtype, Random& random) {
  Matrix made = x.layout(rows, columns);
  made.tensor = empty({x.elements(rows, columns)}, dtype, Device::cpu());
  for (int64_t i = 0; i < made.tensor.size(); ++i) set_value(made.tensor, i, kGap);
  for (int64_t g = 0; g < x.batch; ++g)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j)
        set_value(made.tensor, made.offset + g * made.batch_stride + i * made.row_stride + j, random.uniform(-1, 1));
  return made;
}

struct Product {
  MatmulArgs args;
  Tensor before;  // c before the call
};

Product make_product(const ProductCase& x, uint64_t seed) {
  Random random(seed);
  Product made;
  made.args = x.product(
      [&](int64_t rows, int64_t columns, DType dtype) { return random_matrix(x, rows, columns, dtype, random); });
  if (x.bias) {
    made.args.bias = empty({x.bias_size()}, DType::kF32, Device::cpu());
    for (int64_t j = 0; j < x.bias_size(); ++j) set_value(made.args.bias, j, random.uniform(-1, 1));
  }
  made.before = empty_like(made.args.c.tensor);
  copy(made.args.c.tensor, made.before);
  return made;
}

double factor_at(const Matrix& x, int64_t g, int64_t i, int64_t j, bool rounded) {
  const int64_t within = x.transposed ? j * x.row_stride + i : i * x.row_stride + j;
  const double value = value_at(x.tensor, x.offset + g * x.batch_stride + within);
  return rounded ? static_cast<float>(bf16(static_cast<float>(value))) : value;
}

void run(const MatmulArgs& args) { kernels(Device::cpu()).matmul(stream(Device::cpu()), args); }

// Expects each element of c within its rounding error, and the elements around them unchanged.
void expect_right(const Product& product, const std::string& what) {
  const MatmulArgs& x = product.args;
  const bool rounded = x.precision == Precision::kBF16 && cpu::bf16_kernel() != Bf16Kernel::kNone;
  std::vector<bool> inside(static_cast<size_t>(x.c.tensor.size()));
  for (int64_t g = 0; g < x.batch; ++g) {
    for (int64_t i = 0; i < x.m; ++i) {
      for (int64_t j = 0; j < x.n; ++j) {
        const int64_t at = x.c.offset + g * x.c.batch_stride + i * x.c.row_stride + j;
        inside[static_cast<size_t>(at)] = true;
        double sum = 0, size = 0;
        for (int64_t k = 0; k < x.k; ++k) {
          const double term = factor_at(x.a, g, i, k, rounded) * factor_at(x.b, g, k, j, rounded);
          sum += term;
          size += std::abs(term);
        }
        double expected = x.alpha * sum;
        size = std::abs(x.alpha) * size + 1;
        if (x.bias) expected += value_at(x.bias, g * x.bias_stride() + j);
        if (x.accumulate) expected += value_at(product.before, at);
        double bound = size * 16 * std::numeric_limits<float>::epsilon();
        if (x.c.tensor.dtype() == DType::kBF16) bound += std::abs(expected) / 256;
        ASSERT_NEAR(value_at(x.c.tensor, at), expected, bound) << what << " at " << g << "," << i << "," << j;
      }
    }
  }
  for (int64_t at = 0; at < x.c.tensor.size(); ++at) {
    if (inside[static_cast<size_t>(at)]) continue;
    ASSERT_EQ(value_at(x.c.tensor, at), value_at(product.before, at)) << what << " wrote outside c, at " << at;
  }
}

void check_case(const ProductCase& x) {
  const Product product = make_product(x, 7);
  run(product.args);
  expect_right(product, text_of(x));
}

// GEMMs so small that they are rounded only if b is packed already.
bool stays_in_f32(int64_t m, int64_t k) { return m < 4 || k < 4; }

// Calls body for f32, and for each kernel in bf16.
template <class Body> void for_each_way(Body&& body) {
  const Settings settings;
  body(Precision::kF32);
  for (const Bf16Kernel kernel : bf16_kernels()) {
    SCOPED_TRACE(cpu::name_of(kernel));
    cpu::set_bf16_kernel(kernel);
    body(Precision::kBF16);
  }
}

TEST(Gemm, shapes_and_transposes) {
  constexpr int64_t kShapes[][3] = {{1, 1, 1},     {1, 33, 65},  {2, 31, 1},   {3, 129, 31},  {13, 7, 37},
                                    {14, 32, 32},  {15, 64, 64}, {16, 65, 33}, {17, 96, 31},  {31, 17, 100},
                                    {32, 32, 64},  {33, 70, 63}, {47, 1, 129}, {64, 130, 65}, {67, 257, 97},
                                    {1, 512, 300}, {5, 300, 70}, {9, 40, 1100}};
  for_each_way([&](Precision precision) {
    for (const auto& [m, n, k] : kShapes) {
      for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
          for (const bool weight : {false, true}) {
            if (precision == Precision::kBF16 && !weight && stays_in_f32(m, k)) continue;
            check_case({.m = m, .n = n, .k = k, .ta = ta, .tb = tb, .weight = weight, .precision = precision});
          }
        }
      }
    }
  });
}

TEST(Gemm, bias_alpha_accumulate_and_dtypes) {
  for_each_way([](Precision precision) {
    for (const ProductCase& each : product_mixtures(precision)) check_case(each);
  });
}

TEST(Gemm, strides_and_batches) {
  for_each_way([](Precision precision) {
    for (ProductCase x : product_batches(precision)) {
      check_case(x);
      x.batch = 1;
      x.m = 1;
      x.weight = true;
      check_case(x);
    }
  });
}

TEST(Gemm, one_right_factor_for_the_batch) {
  for_each_way([](Precision precision) {
    for (const bool weight : {false, true}) {
      Product product =
          make_product({.m = 6, .n = 40, .k = 33, .batch = 5, .tb = true, .weight = weight, .precision = precision}, 3);
      product.args.b.batch_stride = 0;
      run(product.args);
      expect_right(product, "shared b");
    }
  });
}

TEST(Gemm, empty_sums_and_empty_outputs) {
  for_each_way([](Precision precision) {
    for (const DType c : {DType::kF32, DType::kBF16}) {
      for (const bool bias : {false, true}) {
        for (const bool accumulate : {false, true}) {
          check_case({.m = 3,
                      .n = 5,
                      .k = 0,
                      .batch = 2,
                      .c = c,
                      .bias = bias,
                      .accumulate = accumulate,
                      .precision = precision});
        }
      }
    }
    check_case({.m = 0, .n = 5, .k = 4, .precision = precision});
    check_case({.m = 3, .n = 0, .k = 4, .precision = precision});
    check_case({.m = 3, .n = 5, .k = 4, .batch = 0, .precision = precision});
  });
}

TEST(Gemm, long_sums_are_split) {
  for_each_way([](Precision precision) {
    for (const DType c : {DType::kF32, DType::kBF16}) {
      for (const bool ta : {false, true}) {
        check_case({.m = 20,
                    .n = 34,
                    .k = 5003,
                    .ta = ta,
                    .c = c,
                    .bias = true,
                    .accumulate = true,
                    .alpha = 0.5f,
                    .precision = precision});
      }
    }
  });
}

// bf16 tensors on a machine without a bf16 kernel.
TEST(Gemm, bf16_tensors_without_a_kernel) {
  const Settings settings;
  cpu::set_bf16_kernel(Bf16Kernel::kNone);
  for (const bool interleaved : {false, true}) {
    for (const bool weight : {false, true}) {
      check_case({.m = 11,
                  .n = 37,
                  .k = 35,
                  .batch = 3,
                  .ta = true,
                  .a = DType::kBF16,
                  .b = DType::kBF16,
                  .c = DType::kBF16,
                  .interleaved = interleaved,
                  .gap = 3,
                  .accumulate = true,
                  .weight = weight,
                  .precision = Precision::kBF16});
    }
  }
}

TEST(Gemm, packed_weights_follow_their_contents) {
  for_each_way([](Precision precision) {
    for (const bool tb : {false, true}) {
      for (const int64_t gap : {0, 3}) {
        const ProductCase x = {.m = 21, .n = 75, .k = 51, .tb = tb, .gap = gap, .weight = true, .precision = precision};
        Product product = make_product(x, 11);
        run(product.args);
        expect_right(product, text_of(x) + " first");
        const Matrix& b = product.args.b;
        for (int64_t i = 0; i < b.tensor.size(); ++i) {
          const double value = value_at(b.tensor, i);
          if (value < kGap / 2) set_value(b.tensor, i, 0.5 - value);
        }
        b.tensor.contents_changed();
        run(product.args);
        expect_right(product, text_of(x) + " changed");
      }
    }
  });
}

// Slices of one weight, and its transpose, have separate copies.
TEST(Gemm, packed_weights_have_separate_copies) {
  for_each_way([](Precision precision) {
    Product product = make_product({.m = 4, .n = 32, .k = 32, .weight = true, .precision = precision}, 5);
    for (const bool transposed : {false, true}) {
      for (const int64_t offset : {0, 16 * 32, 8}) {
        product.args.n = product.args.k = 16;
        product.args.b.transposed = transposed;
        product.args.b.offset = offset;
        run(product.args);
        expect_right(product, fmt::format("transposed {} offset {}", transposed, offset));
      }
    }
  });
}

std::vector<std::byte> bytes_of(const Tensor& x) { return {x.raw(), x.raw() + x.bytes()}; }

TEST(Gemm, same_bits_for_every_number_of_threads) {
  constexpr int64_t kShapes[][3] = {{1, 1000, 300}, {5, 130, 700},  {64, 300, 250}, {200, 96, 133},
                                    {130, 270, 90}, {40, 40, 3000}, {16, 16, 5000}, {33, 77, 129}};
  const Settings settings;
  for (const auto& [m, n, k] : kShapes) {
    for (int form = 0; form < 32; ++form) {
      const Precision precision = form & 1 ? Precision::kBF16 : Precision::kF32;
      if (form & 1 && cpu::bf16_kernel() == Bf16Kernel::kNone) continue;
      const ProductCase x = {.m = m,
                             .n = n,
                             .k = k,
                             .ta = (form & 2) != 0,
                             .tb = (form & 4) != 0,
                             .gap = form & 8 ? 4 : 0,
                             .accumulate = (form & 2) != 0,
                             .weight = (form & 16) != 0,
                             .precision = precision};
      const Product product = make_product(x, 13);
      std::vector<std::byte> first;
      for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        copy(product.before, product.args.c.tensor);
        run(product.args);
        if (threads == 1) first = bytes_of(product.args.c.tensor);
        ASSERT_EQ(first, bytes_of(product.args.c.tensor)) << text_of(x) << " on " << threads << " threads";
      }
    }
  }
}

// A row of a bf16 GEMM has the same bits for any other rows, so that batching changes nothing.
TEST(Gemm, bf16_rows_do_not_depend_on_their_neighbours) {
  const Settings settings;
  for (const Bf16Kernel kernel : bf16_kernels()) {
    cpu::set_bf16_kernel(kernel);
    const Product product =
        make_product({.m = 40, .n = 70, .k = 1100, .tb = true, .weight = true, .precision = Precision::kBF16}, 17);
    run(product.args);
    const std::vector<float> whole = to_host<float>(product.args.c.tensor);
    for (const int64_t rows : {1, 2, 5, 9, 15, 27}) {
      Product some =
          make_product({.m = 40, .n = 70, .k = 1100, .tb = true, .weight = true, .precision = Precision::kBF16}, 17);
      some.args.m = rows;
      run(some.args);
      EXPECT_EQ(std::memcmp(whole.data(), some.args.c.tensor.raw(), static_cast<size_t>(rows * 70) * sizeof(float)), 0)
          << cpu::name_of(kernel) << " with " << rows << " rows";
    }
  }
}

TEST(Gemm, one_weight_on_several_threads) {
  for_each_way([](Precision precision) {
    const ProductCase x = {.m = 24, .n = 96, .k = 80, .tb = true, .weight = true, .precision = precision};
    std::vector<Product> products;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      products.push_back(make_product(x, seed));
      products.back().args.b = products.front().args.b;
    }
    for (int round = 0; round < 3; ++round) {
      std::vector<std::thread> threads;
      for (Product& product : products) {
        threads.emplace_back([&product] {
          set_thread_count(1);
          for (int i = 0; i < 5; ++i) run(product.args);
        });
      }
      for (std::thread& thread : threads) thread.join();
      for (const Product& product : products) expect_right(product, fmt::format("round {}", round));
      const Tensor& weight = products.front().args.b.tensor;
      for (int64_t i = 0; i < weight.size(); ++i) set_value(weight, i, 0.25 - value_at(weight, i));
      weight.contents_changed();
    }
  });
}

// The use in recurrent layers: panels on the caller's own threads, from stored or packed rows.
TEST(Gemm, panels_and_packed_rows_give_the_same_bits) {
  const Settings settings;
  for (const Bf16Kernel kernel : bf16_kernels()) {
    cpu::set_bf16_kernel(kernel);
    for (const int64_t m : {1, 16, 30, 70}) {
      const Product product = make_product(
          {.m = m, .n = 150, .k = 1070, .tb = true, .bias = true, .weight = true, .precision = Precision::kBF16}, 19);
      const MatmulArgs& args = product.args;
      run(args);
      const auto whole = bytes_of(args.c.tensor);

      const cpu::PackedColumns b = cpu::packed_weight(args.b, args.n, args.k);
      const cpu::Rows a = {.view = cpu::view_of(args.a), .m = m};
      const Tensor c = zeros_like(args.c.tensor);
      const cpu::Output out = {.data = c.raw(), .row_stride = args.n, .bias = args.bias.data<float>()};
      cpu::multiply_panels(a, b, 0, 2, out);
      cpu::multiply_panels(a, b, 2, b.panels(), out);
      EXPECT_EQ(bytes_of(c), whole) << cpu::name_of(kernel) << " panels, m " << m;

      std::vector<bf16> rows(static_cast<size_t>(cpu::packed_rows_size(m, args.k)));
      cpu::pack_rows(a, args.k, rows.data());
      zero_memory(c.device(), c.raw(), c.bytes());
      cpu::multiply_packed(rows.data(), m, b, 0, 3, out);
      cpu::multiply_packed(rows.data(), m, b, 3, b.panels(), out);
      EXPECT_EQ(bytes_of(c), whole) << cpu::name_of(kernel) << " packed rows, m " << m;
    }
  }
}

TEST(Gemm, an_unavailable_kernel_is_an_error) {
  if (cpu::available(Bf16Kernel::kAmx)) GTEST_SKIP() << "this machine has AMX";
  EXPECT_THROW(cpu::set_bf16_kernel(Bf16Kernel::kAmx), Error);
}

}  // namespace
}  // namespace fovea
