// CPU attention against the reference in f64, on every instruction set: sizes that are hard to split, scores and sums
// far from zero, masks that hide everything, and the same bits for any number of threads.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/random.h"
#include "base/threads.h"
#include "kernels/kernels.h"
#include "kernels/targets.h"

namespace fovea {
namespace {

const Device kCpu = Device::cpu();
const Device kReference = Device::reference();
const KernelTable& cpu() { return kernels(kCpu); }
const KernelTable& reference() { return kernels(kReference); }

double at(const Tensor& x, int64_t i) {
  switch (x.dtype()) {
    case DType::kF32: return x.data<float>()[i];
    case DType::kBF16: return static_cast<float>(x.data<bf16>()[i]);
    default: return x.data<double>()[i];
  }
}
Tensor in_double(const Tensor& x) {
  if (!x || x.dtype() == DType::kI32) return x;
  std::vector<double> values(static_cast<size_t>(x.size()));
  for (int64_t i = 0; i < x.size(); ++i) values[static_cast<size_t>(i)] = at(x, i);
  return from_host(values, x.shape(), kReference);
}

Tensor filled(const Shape& shape, DType dtype, const std::function<double()>& next) {
  std::vector<float> values(static_cast<size_t>(shape.count()));
  for (float& value : values) value = static_cast<float>(next());
  if (dtype == DType::kF32) return from_host(values, shape, kCpu);
  const std::vector<bf16> rounded(values.begin(), values.end());
  return from_host(rounded, shape, kCpu);
}

// The error allowed for a sum of terms whose magnitudes add up to about `size`.
double tolerance(DType dtype, double size) { return size * (dtype == DType::kBF16 ? 2 * 0x1p-8 : 16 * 0x1p-23); }
void expect_near(const char* what, const Tensor& got, const Tensor& expected, double within) {
  ASSERT_EQ(got.shape(), expected.shape()) << what;
  for (int64_t i = 0; i < got.size(); ++i) {
    if (at(expected, i) == at(got, i)) continue;  // also if both are infinite
    ASSERT_NEAR(at(got, i), at(expected, i), within) << what << " at " << i;
  }
}
void expect_same_bits(const char* what, const Tensor& a, const Tensor& b) {
  EXPECT_EQ(0, std::memcmp(a.raw(), b.raw(), a.bytes())) << what;
}

struct Sizes {
  int64_t batch, heads, queries, keys, width;
  Shape sequence(int64_t steps) const { return {steps, batch, heads * width}; }
  Shape scores() const { return {batch, heads, queries, keys}; }
};
const Sizes kSizes[] = {{1, 1, 1, 1, 1},     {2, 3, 1, 7, 5},    {3, 2, 5, 1, 19},  {2, 1, 25, 25, 37},
                        {1, 2, 6, 130, 64},  {2, 2, 3, 0, 8},    {1, 1, 0, 4, 8},   {4, 1, 1, 100, 96},
                        {1, 1, 70, 300, 33}, {2, 8, 33, 65, 32}, {3, 4, 2, 31, 64}, {2, 1, 4, 257, 130}};

// ---- the additive score ------------------------------------------------------------------------

struct Additive {
  Tensor query, keys, v, lengths, dscore;
  int64_t heads = 1;

  Additive(const Sizes& sizes, DType dtype, double spread, bool with_lengths) : heads(sizes.heads) {
    const auto normal = [this] { return random.normal(); };
    const auto spread_normal = [&] { return spread * random.normal(); };
    query = filled(sizes.sequence(sizes.queries), dtype, spread_normal);
    keys = filled(sizes.sequence(sizes.keys), dtype, spread_normal);
    v = filled({sizes.heads * sizes.width}, DType::kF32, normal);
    dscore = filled(sizes.scores(), dtype, normal);
    if (!with_lengths) return;
    std::vector<int32_t> ends;  // 0, all, and values in between
    for (int64_t b = 0; b < sizes.batch; ++b) ends.push_back(static_cast<int32_t>(sizes.keys * b / sizes.batch));
    lengths = from_host(ends, {sizes.batch}, kCpu);
  }

  Tensor score(const KernelTable& table, bool exact) const {
    const Tensor q = exact ? in_double(query) : query, k = exact ? in_double(keys) : keys;
    const Tensor out = empty(dscore.shape(), q.dtype(), q.device());
    table.additive_score(
        stream(q.device()),
        {.query = q, .keys = k, .v = exact ? in_double(v) : v, .score = out, .lengths = lengths, .heads = heads});
    return out;
  }
  std::vector<Tensor> grads(const KernelTable& table, bool exact) const {
    const auto side = [&](const Tensor& x) { return exact ? in_double(x) : x; };
    const AdditiveScoreGradArgs args{.query = side(query),
                                     .keys = side(keys),
                                     .v = side(v),
                                     .lengths = lengths,
                                     .dscore = side(dscore),
                                     .dquery = zeros_like(side(query)),
                                     .dkeys = zeros_like(side(keys)),
                                     .dv = zeros_like(side(v)),
                                     .heads = heads};
    table.additive_score_grad(stream(args.query.device()), args);
    return {args.dquery, args.dkeys, args.dv};
  }
  Random random{11};
};

void check_additive(const Sizes& sizes, DType dtype, double spread, bool with_lengths) {
  SCOPED_TRACE(fmt::format("B{} H{} T{} S{} d{} {} spread {} lengths {}", sizes.batch, sizes.heads, sizes.queries,
                           sizes.keys, sizes.width, dtype, spread, with_lengths));
  const Additive problem(sizes, dtype, spread, with_lengths);
  const double width = static_cast<double>(sizes.width), keys = static_cast<double>(sizes.keys);
  const double queries = static_cast<double>(sizes.queries * sizes.batch);
  expect_near("score", problem.score(cpu(), false), problem.score(reference(), true),
              tolerance(dtype, std::sqrt(width) + 2));
  const auto got = problem.grads(cpu(), false), expected = problem.grads(reference(), true);
  expect_near("dquery", got[0], expected[0], tolerance(dtype, 2 * std::sqrt(keys) + 2));
  expect_near("dkeys", got[1], expected[1], tolerance(dtype, 2 * std::sqrt(queries) + 2));
  expect_near("dv", got[2], expected[2], tolerance(DType::kF32, 4 * std::sqrt(queries * keys) + 2));
}

TEST(AdditiveKernel, AgreesWithReference) {
  on_every_target([] {
    for (const Sizes& sizes : kSizes) {
      for (const DType dtype : {DType::kF32, DType::kBF16}) {
        for (const bool with_lengths : {false, true}) check_additive(sizes, dtype, 1.0, with_lengths);
      }
    }
  });
}

TEST(AdditiveKernel, FarFromZeroIsExact) {
  on_every_target([] {
    for (const double spread : {8.0, 30.0, 100.0, 1e4, 1e30}) {
      for (const Sizes& sizes : {Sizes{2, 1, 5, 9, 70}, Sizes{2, 2, 1, 9, 33}})
        check_additive(sizes, DType::kF32, spread, true);
    }
  });
}

// One element of each kind among ordinary ones: tanh(100 - 50), tanh(60 - 60.25) and so on.
TEST(AdditiveKernel, LargePartsOfSmallSums) {
  on_every_target([] {
    for (const int64_t queries : {1, 2, 6}) {
      Additive problem({1, 1, queries, 3, 64}, DType::kF32, 1.0, false);
      const float q[] = {100, 60, -40, 1e4f, 21, 45, -90}, k[] = {-50, -60.25f, 40.5f, -1e4f, 21, -44, 3e38f};
      for (int64_t i = 0; i < 7; ++i) {
        for (int64_t t = 0; t < queries; ++t) problem.query.data<float>()[t * 64 + 9 * i] = q[i];
        for (int64_t s = 0; s < 3; ++s) problem.keys.data<float>()[s * 64 + 9 * i] = k[i];
      }
      expect_near("score", problem.score(cpu(), false), problem.score(reference(), true), 1e-5);
      const auto got = problem.grads(cpu(), false), expected = problem.grads(reference(), true);
      for (size_t i = 0; i < got.size(); ++i) expect_near("gradient", got[i], expected[i], 1e-5);
    }
  });
}

TEST(AdditiveKernel, NanReachesOnlyItsOwnScores) {
  Additive problem({1, 1, 5, 4, 40}, DType::kF32, 1.0, false);
  problem.query.data<float>()[2 * 40 + 7] = std::numeric_limits<float>::quiet_NaN();
  const Tensor score = problem.score(cpu(), false);
  for (int64_t i = 0; i < score.size(); ++i) EXPECT_EQ(std::isnan(at(score, i)), i / 4 == 2) << i;
}

TEST(AdditiveKernel, ScoresPastTheLengthAreZeroAndGradientsAreAdded) {
  Additive problem({2, 1, 3, 5, 20}, DType::kF32, 1.0, false);
  problem.lengths = from_host(std::vector<int32_t>{0, 3}, {2}, kCpu);
  const Tensor score = problem.score(cpu(), false);
  for (int64_t i = 0; i < score.size(); ++i) {
    EXPECT_EQ(at(score, i) == 0.0, i < 15 || i % 5 >= 3) << i;
  }
  const Tensor dkeys = filled(problem.keys.shape(), DType::kF32, [] { return 7.0; });
  cpu().additive_score_grad(stream(kCpu), {.query = problem.query,
                                           .keys = problem.keys,
                                           .v = problem.v,
                                           .lengths = problem.lengths,
                                           .dscore = problem.dscore,
                                           .dkeys = dkeys});
  const Tensor added = problem.grads(reference(), true)[1];
  for (int64_t i = 0; i < dkeys.size(); ++i) EXPECT_NEAR(at(dkeys, i), 7 + at(added, i), 1e-5) << i;
}

// ---- dot attention -----------------------------------------------------------------------------

struct Dot {
  DotAttentionArgs args;
  Tensor dout;

  Dot(const Sizes& sizes, DType dtype, double spread, int64_t value_width) {
    Random random(13);
    const auto normal = [&] { return random.normal(); };
    const auto spread_normal = [&] { return spread * random.normal(); };
    const Shape out{sizes.queries, sizes.batch, sizes.heads * value_width};
    args = {.query = filled(sizes.sequence(sizes.queries), dtype, spread_normal),
            .keys = filled(sizes.sequence(sizes.keys), dtype, spread_normal),
            .values = filled(Shape{sizes.keys, sizes.batch, sizes.heads * value_width}, dtype, normal),
            .heads = sizes.heads,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes.width)))};
    dout = filled(out, dtype, normal);
  }

  // out, lse, weights, dquery, dkeys, dvalues
  std::vector<Tensor> run(const KernelTable& table, bool exact) const {
    const auto side = [&](const Tensor& x) { return exact ? in_double(x) : x; };
    DotAttentionArgs own = args;
    own.query = side(args.query);
    own.keys = side(args.keys);
    own.values = side(args.values);
    own.mask.bias = side(args.mask.bias);
    const Device device = own.query.device();
    const DType dtype = own.query.dtype(), sums = accumulator_of(dtype);
    const Shape scores{own.query.dim(1), own.heads, own.query.dim(0), own.keys.dim(0)};
    own.out = empty(dout.shape(), dtype, device);
    own.lse = empty(scores.without(3), sums, device);
    own.weights = empty(scores, dtype, device);
    table.dot_attention(stream(device), own);
    const DotAttentionGradArgs grad{.query = own.query,
                                    .keys = own.keys,
                                    .values = own.values,
                                    .out = own.out,
                                    .lse = own.lse,
                                    .dout = side(dout),
                                    .dquery = zeros_like(own.query),
                                    .dkeys = zeros_like(own.keys),
                                    .dvalues = zeros_like(own.values),
                                    .heads = own.heads,
                                    .scale = own.scale,
                                    .mask = own.mask,
                                    .dropout = own.dropout,
                                    .random = own.random};
    table.dot_attention_grad(stream(device), grad);
    return {own.out, own.lse, own.weights, grad.dquery, grad.dkeys, grad.dvalues};
  }
};

void check_dot(const Dot& problem, double size) {
  const DType dtype = problem.args.query.dtype();
  const auto got = problem.run(cpu(), false), expected = problem.run(reference(), true);
  const char* names[] = {"out", "lse", "weights", "dquery", "dkeys", "dvalues"};
  for (size_t i = 0; i < got.size(); ++i) {
    expect_near(names[i], got[i], expected[i], tolerance(i == 1 ? DType::kF32 : dtype, size));
  }
}

Mask mask_named(const std::string& name, const Sizes& sizes, Random& random) {
  Mask mask;
  if (name == "lengths" || name == "all") {
    std::vector<int32_t> ends;
    for (int64_t b = 0; b < sizes.batch; ++b) ends.push_back(static_cast<int32_t>(sizes.keys * b / sizes.batch));
    mask.lengths = from_host(ends, {sizes.batch}, kCpu);
  }
  if (name == "causal" || name == "all") {
    mask.causal = true;
    mask.offset = sizes.keys > sizes.queries ? sizes.keys - sizes.queries : -1;
  }
  if (name == "bias" || name == "all") {  // one key in four is masked
    const Shape shape{name == "all" ? 1 : sizes.batch, 1, sizes.queries, sizes.keys};
    mask.bias = filled(shape, DType::kF32, [&] { return random.uniform() < 0.25 ? -HUGE_VAL : random.normal(); });
  }
  return mask;
}

TEST(DotAttentionKernel, AgreesWithReference) {
  on_every_target([] {
    for (const Sizes& sizes : kSizes) {
      for (const std::string name : {"none", "lengths", "causal", "bias", "all"}) {
        for (const DType dtype : {DType::kF32, DType::kBF16}) {
          SCOPED_TRACE(fmt::format("B{} H{} T{} S{} d{} {} {}", sizes.batch, sizes.heads, sizes.queries, sizes.keys,
                                   sizes.width, dtype, name));
          Random random(17);
          Dot problem(sizes, dtype, 1.0, sizes.width);
          problem.args.mask = mask_named(name, sizes, random);
          problem.args.dropout = name == "all" ? 0.3f : 0.0f;
          problem.args.random = {.seed = 5, .op_index = 9, .step = from_host(std::vector<int32_t>{3}, {1}, kCpu)};
          check_dot(problem, 16);
        }
      }
    }
  });
}

TEST(DotAttentionKernel, ValuesMayBeOfAnotherWidth) {
  on_every_target([] {
    for (const int64_t queries : {2, 9}) check_dot(Dot({2, 2, queries, 11, 24}, DType::kF32, 1.0, 70), 16);
  });
}

// Scores of about +-1e4, for which only the exponential of a difference is finite and lse has few digits left.
TEST(DotAttentionKernel, LargeScores) {
  on_every_target([] {
    for (const int64_t queries : {1, 6}) {
      Dot problem({1, 1, queries, 9, 16}, DType::kF32, 50.0, 16);
      const auto got = problem.run(cpu(), false), expected = problem.run(reference(), true);
      for (const size_t i : {0, 2, 5}) expect_near("large scores", got[i], expected[i], 1e-2);
      for (const Tensor& x : got) {
        for (int64_t i = 0; i < x.size(); ++i) ASSERT_TRUE(std::isfinite(at(x, i)));
      }
    }
  });
}

TEST(DotAttentionKernel, RowsOfWeightsSumToOneAndMaskedOnesAreZero) {
  for (const int64_t queries : {1, 40}) {
    const Sizes sizes{3, 2, queries, 50, 32};
    Dot problem(sizes, DType::kF32, 2.0, 32);
    problem.args.mask.lengths = from_host(std::vector<int32_t>{0, 17, 50}, {3}, kCpu);
    const auto got = problem.run(cpu(), false);
    for (int64_t row = 0; row < got[1].size(); ++row) {
      const int64_t batch = row / (2 * queries), length = batch == 0 ? 0 : batch == 1 ? 17 : 50;
      double sum = 0;
      for (int64_t s = 0; s < 50; ++s) {
        const double weight = at(got[2], row * 50 + s);
        EXPECT_EQ(weight == 0.0, s >= length);
        sum += weight;
      }
      EXPECT_NEAR(sum, length == 0 ? 0 : 1, 1e-5);
      EXPECT_EQ(std::isinf(at(got[1], row)), length == 0);
    }
    for (int64_t t = 0; t < queries; ++t) {  // a row without visible keys has output 0
      for (int64_t i = 0; i < 64; ++i) EXPECT_EQ(at(got[0], t * 3 * 64 + i), 0.0);
    }
  }
}

// out = sum over s of weights * keep / (1 - rate) * values, with the random numbers of base/random.h.
TEST(DotAttentionKernel, DropoutMatchesTheCounter) {
  for (const int64_t queries : {3, 37}) {
    const Sizes sizes{2, 2, queries, 29, 16};
    Dot problem(sizes, DType::kF32, 1.0, 16);
    problem.args.dropout = 0.4f;
    problem.args.random = {.seed = 77, .op_index = 4, .step = from_host(std::vector<int32_t>{6}, {1}, kCpu)};
    const auto got = problem.run(cpu(), false);
    const uint64_t draws = uint64_t{6} << 32 | 4;
    for (int64_t row = 0; row < 4 * queries; ++row) {
      const int64_t t = row % queries, pair = row / queries, b = pair / 2, h = pair % 2;
      for (int64_t i = 0; i < 16; ++i) {
        double sum = 0;
        for (int64_t s = 0; s < 29; ++s) {
          const int64_t cell = row * 29 + s;
          const bool keeps = random_word(77, draws, static_cast<uint64_t>(cell)) >= drop_threshold(0.4f);
          sum += keeps ? at(got[2], cell) / 0.6 * at(problem.args.values, (s * 2 + b) * 32 + h * 16 + i) : 0;
        }
        EXPECT_NEAR(at(got[0], (t * 2 + b) * 32 + h * 16 + i), sum, 1e-5);
      }
    }
  }
}

// ---- both --------------------------------------------------------------------------------------

TEST(AttentionKernels, SameBitsForAnyNumberOfThreads) {
  const int before = thread_count();
  for (const Sizes& sizes : {Sizes{3, 2, 37, 300, 48}, Sizes{1, 1, 1, 600, 512}, Sizes{1, 2, 150, 130, 64}}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      const Additive additive(sizes, dtype, 6.0, sizes.batch > 1);
      Dot dot(sizes, dtype, 1.0, sizes.width);
      dot.args.dropout = 0.1f;
      dot.args.random = {.seed = 1, .op_index = 2, .step = from_host(std::vector<int32_t>{0}, {1}, kCpu)};
      std::vector<Tensor> first;
      for (const int threads : {1, 2, 3, 5}) {
        set_thread_count(threads);
        std::vector<Tensor> all = dot.run(cpu(), false);
        all.push_back(additive.score(cpu(), false));
        for (const Tensor& x : additive.grads(cpu(), false)) all.push_back(x);
        if (first.empty()) first = all;
        for (size_t i = 0; i < all.size(); ++i) expect_same_bits("results", all[i], first[i]);
      }
    }
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace fovea
