// Decoding with 8-bit weights: log-probabilities are close to those in f32.
#include <gtest/gtest.h>

#include <cmath>

#include "decode/test_models.h"
#include "kernels/cpu/common/processor.h"
#include "ops/ops.h"

namespace fovea {
namespace {

constexpr int64_t kWords = 60;

ModelConfig large_enough(ModelConfig config) {  // for products to be in int8
  config.embedding = config.hidden = config.attention.depth = 32;
  config.feed_forward = 64;
  return config;
}

// The root mean square difference of the log-probabilities of decoded tokens from those in f32.
double error_in(Precision precision, const SmallModel& small) {
  ParallelCorpus pairs = some_sources(kWords);
  const auto found = [&] {
    const PrecisionScope scope(precision);
    return find_with(small, pairs, {.max_length = 12});
  }();
  for (const auto& hypotheses : found) pairs.target.append(hypotheses.front().ids);
  const std::vector<Hypothesis> exact = score_with(small, pairs);
  double squares = 0;
  int64_t count = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const Hypothesis& h = found[i].front();
    for (size_t t = 0; t < h.log_probs.size(); ++t, ++count) {
      squares += std::pow(h.log_probs[t] - exact[i].log_probs.at(t), 2);
    }
  }
  return std::sqrt(squares / static_cast<double>(count));
}

class Int8DecodeTest : public ::testing::TestWithParam<Setup> {};

// How much a rounding error matters depends on the model, and is measured with bf16. The relative error of a bf16 value
// is at most 1/512; that of an int8 value is at most 1/254 of the largest value of its row. That is four times as much
// for uniformly distributed values, and up to three times that again for normally distributed ones.
TEST_P(Int8DecodeTest, LogProbabilitiesAreNearThoseInF32) {
  if (!cpu::kUsesAvx512Bf16) GTEST_SKIP() << "this machine does not round to bf16";
  const SmallModel small(large_enough(GetParam().config), kWords, 3);
  const double bf16_error = error_in(Precision::kBF16, small), int8_error = error_in(Precision::kInt8, small);
  EXPECT_LT(int8_error, 12 * bf16_error);
  EXPECT_GT(int8_error, bf16_error) << "nothing was rounded to int8";
}

// Where a decision depends on a small difference (a hard selection, the edge of a predicted window), rounding gives no
// bound of the error.
std::vector<Setup> smooth_setups() {
  std::vector<Setup> all = setups();
  std::erase_if(all, [](const Setup& setup) {
    const ModelConfig& c = setup.config;
    return c.attention.selection == "hard" || c.attention.scope == "local-p" || c.self_attention.scope == "local-p";
  });
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, Int8DecodeTest, ::testing::ValuesIn(smooth_setups()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace fovea
