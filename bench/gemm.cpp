// Products in int8, bf16 (the rounding of the left factor included) and f32 with packed weights: y [m,n] = x [m,k]
// weight^T; and f32 products of activations, as in a backward pass, for each way in which the factors may be stored.
// Results are compared with sums in double before they are timed.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/threads.h"
#include "bench/harness.h"
#include "kernels/cpu/gemm/gemm_bf16.h"
#include "kernels/kernels.h"

namespace {

using namespace fovea;

Tensor random_tensor(const Shape& shape, uint64_t seed) {
  Random random(seed);
  const Tensor x = empty(shape, DType::kF32, Device::cpu());
  for (int64_t i = 0; i < x.size(); ++i) x.data<float>()[i] = static_cast<float>(random.uniform(-1, 1));
  return x;
}

struct Problem {
  int64_t m, n, k;
  Tensor x, weight, y;

  void multiply(Precision precision) const {
    kernels(Device::cpu())
        .matmul(stream(Device::cpu()), {.a = {.tensor = x, .row_stride = k},
                                        .b = {.tensor = weight, .row_stride = k, .transposed = true, .weight = true},
                                        .c = {.tensor = y, .row_stride = n},
                                        .bias = {},
                                        .m = m,
                                        .n = n,
                                        .k = k,
                                        .precision = precision});
  }

  // The largest error of sampled elements as a share of the largest element. With `rounded` the factors of the expected
  // sums are rounded to bf16, so that only the kernel's own error remains.
  double error(bool rounded) const {
    const auto factor = [&](float value) { return rounded ? static_cast<float>(bf16(value)) : value; };
    Random random(5);
    double worst = 0, largest = 0;
    for (int sample = 0; sample < 500; ++sample) {
      const auto i = static_cast<int64_t>(random.below(static_cast<uint64_t>(m)));
      const auto j = sample == 0 ? n - 1 : static_cast<int64_t>(random.below(static_cast<uint64_t>(n)));
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        sum += static_cast<double>(factor(x.data<float>()[i * k + l])) * factor(weight.data<float>()[j * k + l]);
      }
      worst = std::max(worst, std::abs(sum - y.data<float>()[i * n + j]));
      largest = std::max(largest, std::abs(sum));
    }
    return worst / largest;
  }
};

double checked(const Problem& problem, Precision precision, bool rounds) {
  problem.multiply(precision);
  const double own = problem.error(rounds);
  // In int8 a value is rounded by up to 1/254 of the largest one; the errors of a long sum cancel.
  if (!(own < (precision == Precision::kInt8 ? 1e-2 : 1e-5))) {
    constexpr const char* kNames[] = {"f32", "bf16", "int8"};
    bench::wrong(fmt::format("m {} n {} k {}: {} has an error of {}", problem.m, problem.n, problem.k,
                             kNames[static_cast<size_t>(precision)], own));
  }
  return problem.error(false);
}

// f32 products of two activations, each of which may be stored transposed.
void measure_activations(const bench::Options& options, bench::Table& table) {
  struct Sizes {
    int64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{512, 512, 1600}, {2048, 512, 1600}, {1600, 512, 512}, {64, 64, 64}, {1, 512, 30}}) {
    const Tensor a = random_tensor({s.m * s.k}, 3), b = random_tensor({s.k * s.n}, 4);
    const Tensor c = empty({s.m * s.n}, DType::kF32, Device::cpu());
    for (const bool left : {false, true}) {
      for (const bool right : {false, true}) {
        const auto multiply = [&] {
          kernels(Device::cpu())
              .matmul(stream(Device::cpu()), {.a = {.tensor = a, .row_stride = left ? s.m : s.k, .transposed = left},
                                              .b = {.tensor = b, .row_stride = right ? s.k : s.n, .transposed = right},
                                              .c = {.tensor = c, .row_stride = s.n},
                                              .m = s.m,
                                              .n = s.n,
                                              .k = s.k});
        };
        multiply();
        double sum = 0;
        for (int64_t l = 0; l < s.k; ++l) {  // the last element
          sum += static_cast<double>(a.data<float>()[left ? l * s.m + s.m - 1 : (s.m - 1) * s.k + l]) *
                 b.data<float>()[right ? (s.n - 1) * s.k + l : l * s.n + s.n - 1];
        }
        if (!(std::abs(sum - c.data<float>()[c.size() - 1]) < 1e-3)) bench::wrong("a product of activations is wrong");
        const auto time = bench::measure(options, {multiply});
        table.add(thread_count(), s.m, s.n, s.k, fmt::format("{}{}", left ? "T" : "N", right ? "T" : "N"),
                  2e-9 * static_cast<double>(s.m * s.n * s.k) / time[0].median, 100 * bench::spread(time[0]));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Options options = bench::parse(argc, argv, "products in int8, bf16 and f32");
  const bool rounds = cpu::bf16_kernel() != cpu::Bf16Kernel::kNone;
  fmt::print("{}, bf16 kernel: {}\n", bench::processor_name(), cpu::name_of(cpu::bf16_kernel()));

  using Sizes = std::vector<int64_t>;
  const Sizes ms = options.quick ? Sizes{1, 64, 1600} : Sizes{1, 32, 64, 256, 1600, 4096};
  const Sizes ns = options.quick ? Sizes{1536, 10000} : Sizes{512, 1536, 2048, 10000};
  const Sizes ks = options.quick ? Sizes{512} : Sizes{256, 512, 1024};
  const std::vector<int> thread_counts =
      options.threads > 0 ? std::vector<int>{options.threads} : std::vector<int>{1, 2};

  bench::Table table("products", {"threads", "m", "n", "k", "int8 GF/s", "bf16 GF/s", "f32 GF/s", "int8 / bf16",
                                  "bf16 / f32", "spread %", "int8 error", "bf16 error", "f32 error"});
  bench::Table summary("speed-up of bf16 over f32", {"threads", "median m>=64", "least m>=32"});
  std::vector<std::vector<double>> high(thread_counts.size()), some(thread_counts.size());
  const Tensor results = empty({ms.back() * ns.back()}, DType::kF32, Device::cpu());
  for (const int64_t k : ks) {
    const Tensor rows = random_tensor({ms.back(), k}, 1), weights = random_tensor({ns.back(), k}, 2);
    for (const int64_t n : ns) {
      for (const int64_t m : ms) {
        const Problem problem = {m, n, k, rows.slice(0, m), weights.slice(0, n), results.slice(0, m * n)};
        for (size_t t = 0; t < thread_counts.size(); ++t) {
          set_thread_count(thread_counts[t]);
          const double f32_error = checked(problem, Precision::kF32, false);
          const double bf16_error = checked(problem, Precision::kBF16, rounds);
          const double int8_error = checked(problem, Precision::kInt8, false);
          const auto time = bench::measure(
              options, {[&] { problem.multiply(Precision::kBF16); }, [&] { problem.multiply(Precision::kF32); },
                        [&] { problem.multiply(Precision::kInt8); }});
          const double flops = 2e-9 * static_cast<double>(m * n * k), gain = bench::ratio(time[1], time[0]);
          table.add(thread_counts[t], m, n, k, flops / time[2].median, flops / time[0].median, flops / time[1].median,
                    bench::ratio(time[0], time[2]), gain,
                    100 * std::max({bench::spread(time[0]), bench::spread(time[1]), bench::spread(time[2])}),
                    int8_error, bf16_error, f32_error);
          if (m >= 64) high[t].push_back(gain);
          if (m >= 32) some[t].push_back(gain);
        }
      }
    }
  }
  for (size_t t = 0; t < thread_counts.size(); ++t) {
    summary.add(thread_counts[t], bench::median_of(high[t]), *std::min_element(some[t].begin(), some[t].end()));
  }
  bench::Table activations("f32 products of activations", {"threads", "m", "n", "k", "stored", "GF/s", "spread %"});
  for (const int threads : thread_counts) {
    set_thread_count(threads);
    measure_activations(options, activations);
  }
  bench::report(options, {&table, &summary, &activations});
}
