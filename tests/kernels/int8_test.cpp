// GEMMs with 8-bit weights against sums in double. Quantisation to 127 steps changes a value v by at most half a scale,
// largest / 254 of its row; so it changes a product of x and w by at most |x| scale_w / 2 + (|w| + scale_w / 2) scale_x
// / 2, and a sum by the sum of these.
#include <gtest/gtest.h>

#include <bit>
#include <cctype>
#include <cmath>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "kernels/cpu/gemm/gemm_int8.h"
#include "kernels/kernels.h"

namespace fovea {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Problem {
  int64_t m, n, k;
  Tensor x, weight, bias, y;

  Problem(int64_t rows, int64_t columns, int64_t depth, bool with_bias = true)
      : m(rows),
        n(columns),
        k(depth),
        x(random({m, k}, 1)),
        weight(random({n, k}, 2)),
        bias(with_bias ? random({n}, 3) : Tensor()),
        y(random({m, n}, 4)) {}

  static Tensor random(const Shape& shape, uint64_t seed) {
    Random numbers(seed);
    const Tensor made = empty(shape, DType::kF32, Device::cpu());
    for (int64_t i = 0; i < made.size(); ++i) made.data<float>()[i] = static_cast<float>(numbers.uniform(-1, 1));
    return made;
  }

  MatmulArgs args() const {
    return {.a = {.tensor = x, .row_stride = k},
            .b = {.tensor = weight, .row_stride = k, .transposed = true, .weight = true},
            .c = {.tensor = y, .row_stride = n},
            .bias = bias,
            .m = m,
            .n = n,
            .k = k,
            .precision = Precision::kInt8};
  }
  float* x_row(int64_t i) const { return x.data<float>() + i * k; }
  float* weight_row(int64_t j) const { return weight.data<float>() + j * k; }
};

double scale_of(const float* row, int64_t k) {
  double largest = 0;
  for (int64_t i = 0; i < k; ++i) largest = std::max(largest, std::abs(static_cast<double>(row[i])));
  return largest / 127;
}

// Expects each element within the quantisation error. Returns the mean of error / bound.
double expect_near(const Problem& p, const std::string& what) {
  constexpr double kEpsilon = 0x1p-23;
  std::vector<double> weight_scales;
  for (int64_t j = 0; j < p.n; ++j) weight_scales.push_back(scale_of(p.weight_row(j), p.k));
  double shares = 0;
  for (int64_t i = 0; i < p.m; ++i) {
    const float* x = p.x_row(i);
    const double x_scale = scale_of(x, p.k);
    for (int64_t j = 0; j < p.n; ++j) {
      const float* w = p.weight_row(j);
      const double w_scale = weight_scales[static_cast<size_t>(j)];
      double sum = p.bias ? p.bias.data<float>()[j] : 0.0, bound = 0, size = std::abs(sum);
      for (int64_t l = 0; l < p.k; ++l) {
        const double a = x[l], b = w[l];
        sum += a * b;
        size += std::abs(a * b);
        bound += std::abs(a) * w_scale / 2 + (std::abs(b) + w_scale / 2) * x_scale / 2;
      }
      bound = bound * (1 + 1e-4) + 8 * kEpsilon * size;  // the scales and the result are rounded to f32
      const double error = std::abs(p.y.data<float>()[i * p.n + j] - sum);
      EXPECT_LE(error, bound) << what << " at " << i << "," << j;
      if (!(error <= bound)) return 1;
      shares += bound > 0 ? error / bound : 0;
    }
  }
  return shares / static_cast<double>(p.m * p.n);
}

void run(const MatmulArgs& args) { kernels(Device::cpu()).matmul(stream(Device::cpu()), args); }

class Threads {
 public:
  ~Threads() { set_thread_count(before_); }

 private:
  int before_ = thread_count();
};

class Int8Test : public ::testing::TestWithParam<cpu::Int8Kernel> {
 protected:
  void SetUp() override {
    if (!cpu::available(GetParam())) GTEST_SKIP() << "this machine cannot run the kernel " << cpu::name_of(GetParam());
    cpu::set_int8_kernel(GetParam());
  }
  void TearDown() override { cpu::set_int8_kernel(std::nullopt); }
};

INSTANTIATE_TEST_SUITE_P(Kernels, Int8Test, ::testing::ValuesIn(cpu::kInt8Kernels), [](const auto& test) {
  std::string name(cpu::name_of(test.param));
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

TEST_P(Int8Test, HardShapes) {
  for (const int64_t n : {1, 15, 16, 17, 63, 64, 65, 130}) {
    for (const int64_t k : {1, 3, 4, 63, 64, 65, 513}) {
      for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 33}) {
        for (const bool bias : {false, true}) {
          const Problem p(m, n, k, bias);
          cpu::matmul_int8(p.args());
          expect_near(p, fmt::format("m{} n{} k{} bias{}", m, n, k, bias));
        }
      }
    }
  }
}

std::vector<uint32_t> bits_of(const Tensor& y) {
  std::vector<uint32_t> bits;
  for (const float x : to_host<float>(y)) bits.push_back(std::bit_cast<uint32_t>(x));
  return bits;
}

std::vector<uint32_t> bits_with(cpu::Int8Kernel kernel, const Problem& p) {
  cpu::set_int8_kernel(kernel);
  p.weight.contents_changed();  // packed anew, by this kernel
  cpu::matmul_int8(p.args());
  return bits_of(p.y);
}

// Every kernel has the bits of the plain one, also for rows that are all of one magnitude or of very different ones.
TEST_P(Int8Test, EqualsThePlainKernelToTheBit) {
  Random random(6);
  for (const int64_t n : {1, 9, 31, 64, 65, 130}) {
    for (const int64_t k : {1, 5, 63, 64, 65, 260}) {
      for (const int64_t m : {1, 2, 3, 4, 5, 6, 7, 8, 16, 17, 33}) {
        const Problem p(m, n, k, k % 2 == 0);
        for (const Tensor& t : {p.x, p.weight}) {
          for (int64_t row = 0; row < t.dim(0); ++row) {
            const auto kind = random.below(4);
            for (int64_t i = 0; i < k; ++i) {
              float& x = t.data<float>()[row * k + i];
              if (kind == 0) x = x < 0 ? -1.0f : 1.0f;
              if (kind == 1) x *= std::exp2(static_cast<float>(random.below(40)) - 20.0f);
              if (kind == 2) x = std::round(x * 254.0f) / 2.0f;  // ties
            }
          }
        }
        ASSERT_EQ(bits_with(GetParam(), p), bits_with(cpu::Int8Kernel::kPlain, p))
            << fmt::format("m{} n{} k{}", m, n, k);
      }
    }
  }
}

// The bits of a product, which are the same on every CPU and with every cap on its instruction set.
TEST_P(Int8Test, BitsAreThoseOfEveryMachine) {
  const Problem p(9, 100, 257);
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const uint32_t word : bits_with(GetParam(), p)) hash = (hash ^ word) * 1099511628211u;
  EXPECT_EQ(hash, 6705869588282684322u);
}

TEST_P(Int8Test, ManyColumnsAndManyRows) {
  for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 10007, 65}, {5, 10007, 65}, {2, 130, 5003}, {200, 65, 70}}) {
    const Problem p(m, n, k);
    cpu::matmul_int8(p.args());
    const double share = expect_near(p, fmt::format("m{} n{} k{}", m, n, k));
    EXPECT_GT(share, 1e-4) << "nothing was rounded";
    EXPECT_LT(share, 0.1) << "errors do not cancel as those of rounding do";
  }
}

// The products are exactly quantised x times quantised w, summed without error.
TEST_P(Int8Test, WholeNumbersAreExact) {
  const Problem p(7, 70, 301, false);
  Random random(5);
  for (const Tensor& t : {p.x, p.weight}) {
    for (int64_t i = 0; i < t.size(); ++i) t.data<float>()[i] = static_cast<float>(random.below(255)) - 127.0f;
    for (int64_t i = 0; i < t.size(); i += p.k) t.data<float>()[i] = -127.0f;
  }
  cpu::matmul_int8(p.args());
  for (int64_t i = 0; i < p.m; ++i) {
    for (int64_t j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < p.k; ++l) sum += static_cast<double>(p.x_row(i)[l]) * p.weight_row(j)[l];
      ASSERT_EQ(p.y.data<float>()[i * p.n + j], sum) << i << "," << j;
    }
  }
}

// All products have the largest magnitude and one sign: the longest sum that int32 can represent.
TEST_P(Int8Test, LongestSum) {
  const Problem p(1, 16, 1 << 17, false);
  for (const Tensor& t : {p.x, p.weight}) std::fill_n(t.data<float>(), t.size(), 127.0f);
  for (const float sign : {1.0f, -1.0f}) {
    std::fill_n(p.x.data<float>(), p.k, sign * 127.0f);
    run(p.args());
    EXPECT_EQ(p.y.data<float>()[3], sign * 127.0f * 127.0f * 0x1p17f);
  }
}

TEST_P(Int8Test, ZerosAndExtremes) {
  const Problem p(8, 40, 65);
  const auto fill = [&](float* row, float scale) {
    for (int64_t i = 0; i < p.k; ++i) row[i] *= scale;
  };
  fill(p.x_row(0), 0);
  fill(p.x_row(1), 1e30f);
  fill(p.x_row(2), 1e-20f);
  p.x_row(3)[17] = 1e30f;
  p.x_row(4)[64] = -1e6f;
  fill(p.x_row(5), 1e-25f);
  fill(p.weight_row(0), 0);
  fill(p.weight_row(1), 1e-20f);
  fill(p.weight_row(2), 1e6f);
  p.weight_row(3)[0] = 1e6f;
  cpu::matmul_int8(p.args());
  expect_near(p, "extremes");
  for (int64_t j = 0; j < p.n; ++j) EXPECT_EQ(p.y.data<float>()[j], p.bias.data<float>()[j]) << "a row of zeros";
}

// A row below 2^-100 counts as zero, because its scale has no finite inverse.
TEST_P(Int8Test, DenormalRows) {
  const Problem p(2, 20, 33, false);
  for (int64_t i = 0; i < p.k; ++i) p.x_row(0)[i] = 1e-44f;
  for (int64_t i = 0; i < p.k; ++i) p.weight_row(0)[i] = 1e-41f;
  cpu::matmul_int8(p.args());
  for (int64_t j = 0; j < p.n; ++j) EXPECT_EQ(p.y.data<float>()[j], 0.0f);
  EXPECT_EQ(p.y.data<float>()[p.n], 0.0f);
  EXPECT_NE(p.y.data<float>()[p.n + 1], 0.0f);
}

TEST_P(Int8Test, InfinityAndNaNAreNotHidden) {
  for (const float value : {kInfinity, -kInfinity, std::nanf("")}) {
    const Problem p(3, 20, 33);
    p.x_row(1)[32] = value;
    p.weight_row(4)[5] = value;
    cpu::matmul_int8(p.args());
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        EXPECT_EQ(std::isnan(p.y.data<float>()[i * p.n + j]), i == 1 || j == 4) << i << "," << j;
      }
    }
  }
}

TEST_P(Int8Test, NothingAroundTheResultIsTouched) {
  const Problem p(7, 70, 33);
  constexpr int64_t kGap = 5;
  const Tensor wide = empty({(p.m + 1) * (p.n + kGap)}, DType::kF32, Device::cpu());
  std::fill_n(wide.data<float>(), wide.size(), 1e30f);
  MatmulArgs args = p.args();
  args.c = {.tensor = wide, .row_stride = p.n + kGap, .offset = kGap};
  cpu::matmul_int8(args);
  cpu::matmul_int8(p.args());
  for (int64_t at = 0; at < wide.size(); ++at) {
    const int64_t row = (at - kGap) / (p.n + kGap), column = (at - kGap) % (p.n + kGap);
    const bool inside = at >= kGap && row < p.m && column < p.n;
    EXPECT_EQ(wide.data<float>()[at], inside ? p.y.data<float>()[row * p.n + column] : 1e30f) << at;
  }
}

// A row has the same bits for any number of threads and any other rows.
TEST_P(Int8Test, SameBitsForEveryNumberOfThreadsAndRows) {
  const Threads threads;
  const Problem p(64, 1000, 513);
  set_thread_count(1);
  run(p.args());
  const std::vector<float> whole = to_host<float>(p.y);
  for (const int count : {1, 2, 3}) {
    set_thread_count(count);
    for (const int64_t rows : {1, 2, 5, 33, 64}) {
      std::fill_n(p.y.data<float>(), p.y.size(), 0.0f);
      MatmulArgs args = p.args();
      args.m = rows;
      run(args);
      const std::vector<float> some = to_host<float>(p.y);
      for (int64_t i = 0; i < rows * p.n; ++i) {
        const auto at = static_cast<size_t>(i);
        ASSERT_EQ(some[at], whole[at]) << count << " threads, " << rows << " rows, element " << i;
      }
    }
  }
}

TEST_P(Int8Test, WeightsFollowTheirContents) {
  const Problem p(3, 70, 51);
  run(p.args());
  expect_near(p, "first");
  const std::vector<float> before = to_host<float>(p.y);
  for (int64_t i = 0; i < p.weight.size(); ++i) p.weight.data<float>()[i] *= -0.5f;
  run(p.args());
  EXPECT_EQ(to_host<float>(p.y), before) << "the packed copy was made anew, though nobody said that it changed";
  p.weight.contents_changed();
  run(p.args());
  expect_near(p, "changed");
  EXPECT_NE(to_host<float>(p.y), before);
}

// Slices of one weight have separate copies.
TEST_P(Int8Test, SlicesOfAWeightHaveSeparateCopies) {
  Problem p(3, 64, 32);
  const Tensor whole = p.weight;
  p.n = 32;
  for (const int64_t row : {0, 32, 16}) {
    p.weight = whole.slice(row, row + 32);
    run(p.args());
    expect_near(p, fmt::format("rows from {}", row));
  }
}

// A weight that is stored in 8 bits gives the bits of its f32 elements, unless rounding the scales twice shows: here
// they are powers of two. Lookups equal those of the f32 elements to the bit.
TEST_P(Int8Test, WeightsStoredInEightBits) {
  for (const auto& [n, k] : {std::pair<int64_t, int64_t>{70, 33}, {64, 64}, {130, 257}}) {
    const Problem stored(5, n, k), widened(5, n, k);
    Random random(8);
    const auto values = std::make_shared<std::vector<int8_t>>();
    std::vector<float> scales;
    for (int64_t i = 0; i < n * k; ++i)
      values->push_back(static_cast<int8_t>(static_cast<int>(random.below(255)) - 127));
    for (int64_t j = 0; j < n; ++j) {
      (*values)[static_cast<size_t>(j * k)] = 127;
      scales.push_back(std::exp2(static_cast<float>(j % 7) - 10.0f));
    }
    const QuantisedMatrix matrix = {.rows = n,
                                    .columns = k,
                                    .values = values->data(),
                                    .scales = reinterpret_cast<const std::byte*>(scales.data()),
                                    .owner = values};
    stored.weight.buffer()->set_quantised(stored.weight.address(), matrix);
    widened.weight.buffer()->set_quantised(widened.weight.address(), matrix);
    widened.weight.contents_changed();
    ASSERT_FALSE(widened.weight.quantised_row(0, k));
    run(stored.args());
    EXPECT_TRUE(stored.weight.buffer()->needs_widening()) << "the weight exists in f32";
    run(widened.args());
    EXPECT_EQ(bits_of(stored.y), bits_of(widened.y));

    const Tensor ids = from_host(std::vector<int32_t>{3, 0, 3, 61}, {4}, Device::cpu());
    const Tensor some = zeros({4, k}, DType::kF32, Device::cpu()), same = zeros_like(some);
    kernels(Device::cpu())
        .embedding(stream(Device::cpu()), {.table = stored.weight, .ids = ids, .y = some, .scale = 3});
    EXPECT_TRUE(stored.weight.buffer()->needs_widening()) << "the table exists in f32";
    kernels(Device::cpu())
        .embedding(stream(Device::cpu()), {.table = widened.weight, .ids = ids, .y = same, .scale = 3});
    EXPECT_EQ(bits_of(some), bits_of(same));
  }
}

// ---- what is not such a product: as in bf16, to the last bit, on any machine ----

std::vector<float> result_of(MatmulArgs args, Precision precision) {
  args.precision = precision;
  const Tensor y = zeros_like(args.c.tensor);
  args.c.tensor = y;
  run(args);
  return to_host<float>(y);
}

TEST(Int8Fallback, EqualsBf16) {
  const Problem p(40, 40, 40);
  const auto expect_bf16 = [](const MatmulArgs& args, const char* what) {
    EXPECT_FALSE(cpu::in_int8(args)) << what;
    EXPECT_EQ(result_of(args, Precision::kInt8), result_of(args, Precision::kBF16)) << what;
  };
  MatmulArgs args = p.args();
  args.b.weight = false;
  expect_bf16(args, "an activation");
  EXPECT_EQ(p.weight.buffer()->derived, nullptr) << "a copy of an activation was kept";
  EXPECT_EQ(p.x.buffer()->derived, nullptr);
  args = p.args();
  args.b.transposed = false;
  expect_bf16(args, "a gradient of x");
  args = p.args();
  args.a.transposed = true;
  expect_bf16(args, "a gradient of the weight");
  args = p.args();
  args.accumulate = true;
  expect_bf16(args, "added");
  args = p.args();
  args.alpha = 0.5f;
  expect_bf16(args, "scaled");
  args = p.args();
  args.m = 8;
  args.batch = 5;
  args.a.batch_stride = args.c.batch_stride = 8 * 40;
  expect_bf16(args, "a batch");
  expect_bf16(Problem(5, 3, 40).args(), "few columns");
  expect_bf16(Problem(5, 40, 3).args(), "a short sum");
}

// The reference ignores the precision.
TEST(Int8Fallback, ReferenceIsExact) {
  const Problem p(5, 40, 40);
  const auto result = [&](Precision precision) {
    MatmulArgs args = p.args();
    for (Tensor* t : {&args.a.tensor, &args.b.tensor, &args.c.tensor, &args.bias}) {
      *t = from_host(to_host<float>(*t), t->shape(), Device::reference());
    }
    args.precision = precision;
    kernels(Device::reference()).matmul(stream(Device::reference()), args);
    return to_host<float>(args.c.tensor);
  };
  EXPECT_EQ(result(Precision::kInt8), result(Precision::kF32));
}

}  // namespace
}  // namespace fovea
