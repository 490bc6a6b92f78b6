#include "tasks/corpus_mixture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "support.h"

namespace fovea {
namespace {

// 100 rows of corpus 0, then 10 of corpus 1, then 3 of corpus 2.
std::vector<int32_t> three() {
  std::vector<int32_t> corpora(100, 0);
  corpora.insert(corpora.end(), 10, 1);
  corpora.insert(corpora.end(), 3, 2);
  return corpora;
}

TEST(CorpusMixture, AnEpochHasTheSharesOfTheWeights) {
  const CorpusMixture mixture(three(), std::vector<double>{2, 1, 1}, 1);
  EXPECT_EQ(mixture.pairs(), (std::vector<int64_t>{57, 28, 28}));  // 113 in all, rounded
  for (const int64_t epoch : {0, 1, 7}) {
    const std::vector<int64_t> rows = mixture.rows(epoch);
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](int64_t r) { return r < 100; }), 57);
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](int64_t r) { return r >= 100 && r < 110; }), 28);
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [](int64_t r) { return r >= 110; }), 28);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
  }
  EXPECT_EQ(CorpusMixture(three(), std::vector<double>{1e9, 1, 1}, 1).pairs(), (std::vector<int64_t>{113, 1, 1}));
}

TEST(CorpusMixture, EveryRowIsDrawnEquallyOften) {
  const CorpusMixture mixture(three(), std::vector<double>{2, 1, 1}, 1);
  std::map<int64_t, int64_t> drawn;
  for (int64_t epoch = 0; epoch < 100; ++epoch) {
    for (const int64_t row : mixture.rows(epoch)) ++drawn[row];
  }
  ASSERT_EQ(drawn.size(), 113u);
  for (const auto& [row, count] : drawn) {
    const double expected = row < 100 ? 57.0 : row < 110 ? 280.0 : 2800.0 / 3;
    EXPECT_NEAR(static_cast<double>(count), expected, 1) << row;
  }
}

TEST(CorpusMixture, DependsOnSeedAndEpochAlone) {
  const std::vector<double> weights = {1, 1, 1};
  const CorpusMixture one(three(), weights, 1), same(three(), weights, 1), other(three(), weights, 2);
  EXPECT_EQ(one.rows(5), same.rows(5));
  EXPECT_NE(one.rows(5), one.rows(6));
  EXPECT_NE(one.rows(5), other.rows(5));
}

TEST(CorpusMixture, TemperatureEvensSizesOut) {
  const std::vector<int64_t> sizes = {1000, 10};
  EXPECT_DOUBLE_EQ(weights_by_size(sizes, 1)[0] / weights_by_size(sizes, 1)[1], 100);
  EXPECT_DOUBLE_EQ(weights_by_size(sizes, 2)[0] / weights_by_size(sizes, 2)[1], 10);
  EXPECT_NEAR(weights_by_size(sizes, 1e6)[0] / weights_by_size(sizes, 1e6)[1], 1, 1e-4);
}

TEST(CorpusMixture, ACorpusWithoutPairsIsAnError) {
  EXPECT_ERROR(CorpusMixture(three(), std::vector<double>{1, 1, 1, 1}, 1), "in corpus 4, got none");
}

}  // namespace
}  // namespace fovea
