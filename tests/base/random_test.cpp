#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace fovea {
namespace {

// Known answers for Philox4x32-10, published with the Random123 library.
TEST(Philox, GivesThePublishedNumbers) {
  const RandomBits zero = philox(0, 0, 0);
  EXPECT_EQ(zero.word[0], 0x6627e8d5u);
  EXPECT_EQ(zero.word[1], 0xe169c58du);
  EXPECT_EQ(zero.word[2], 0xbc57ac4cu);
  EXPECT_EQ(zero.word[3], 0x9b00dbd8u);
  const RandomBits ones = philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0});
  EXPECT_EQ(ones.word[0], 0x408f276du);
  EXPECT_EQ(ones.word[1], 0x41c83b0eu);
  EXPECT_EQ(ones.word[2], 0xa20bc7c6u);
  EXPECT_EQ(ones.word[3], 0x6d5451fdu);
  // Counter and key from the digits of pi.
  const RandomBits pi = philox(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u);
  EXPECT_EQ(pi.word[0], 0xd16cfe09u);
  EXPECT_EQ(pi.word[1], 0x94fdcceb);
  EXPECT_EQ(pi.word[2], 0x5001e420u);
  EXPECT_EQ(pi.word[3], 0x24126ea1u);
}

TEST(Random, HasTheMomentsItShould) {
  Random random(3);
  double mean = 0.0, square = 0.0, normal_mean = 0.0, normal_square = 0.0;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform(), n = random.normal();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    mean += u / kDraws;
    square += u * u / kDraws;
    normal_mean += n / kDraws;
    normal_square += n * n / kDraws;
  }
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(square, 1.0 / 3.0, 0.005);
  EXPECT_NEAR(normal_mean, 0.0, 0.015);
  EXPECT_NEAR(normal_square, 1.0, 0.02);
}

TEST(Random, BelowStaysBelowAndReachesAll) {
  Random random(5);
  std::set<uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.below(7));
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3, 4, 5, 6}));
}

TEST(Random, ContinuesFromAPosition) {
  Random random(9, 2);
  for (int i = 0; i < 13; ++i) random.bits();
  Random again(9, 2);
  again.seek(random.position());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(random.bits(), again.bits());
}

TEST(DropThreshold, IsTheRateOfAllWords) {
  EXPECT_EQ(drop_threshold(0.0f), 0u);
  EXPECT_EQ(drop_threshold(0.5f), 0x80000000u);
}

}  // namespace
}  // namespace fovea
