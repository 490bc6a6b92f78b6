#include "evaluate/diversity.h"

#include <gtest/gtest.h>

#include <vector>

namespace fovea {
namespace {

TEST(Distinct, IsTheShareOfDifferentNgrams) {
  const std::vector<std::string> lines = {"i do not know", "i do not", "", "know"};
  EXPECT_DOUBLE_EQ(distinct_ngrams(lines, 1), 100.0 * 4 / 8);
  EXPECT_DOUBLE_EQ(distinct_ngrams(lines, 2), 100.0 * 3 / 5);
  EXPECT_DOUBLE_EQ(distinct_ngrams(lines, 5), 0);
  EXPECT_DOUBLE_EQ(distinct_ngrams({}, 1), 0);
}

TEST(Distinct, CountsChineseCharacters) {
  const std::vector<std::string> lines = {"好的好", "ok 好"};
  EXPECT_DOUBLE_EQ(distinct_ngrams(lines, 1), 100.0 * 3 / 5);
  EXPECT_DOUBLE_EQ(distinct_ngrams(lines, 2), 100);
}

}  // namespace
}  // namespace fovea
