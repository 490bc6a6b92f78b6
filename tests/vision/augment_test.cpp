#include "vision/augment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "support.h"
#include "vision/encoders.h"

namespace fovea {
namespace {

TEST(AugmentTest, DependsOnSeedEpochAndIndexOnly) {
  const AugmentConfig config{.crop = 0.5, .flip = true, .colour = 0.4};
  const Image picture = noisy_picture(40, 30, 1);
  const auto result = [&](uint64_t seed, int64_t epoch, int64_t index) {
    return augment(picture, draw_augmentation(config, 40, 30, true, seed, epoch, index), 16, 16).pixels;
  };
  EXPECT_EQ(result(1, 2, 3), result(1, 2, 3));
  EXPECT_NE(result(1, 2, 3), result(2, 2, 3));
  EXPECT_NE(result(1, 2, 3), result(1, 3, 3));
  EXPECT_NE(result(1, 2, 3), result(1, 2, 4));
}

TEST(AugmentTest, CropsAreInsideAndLargeEnough) {
  const AugmentConfig config{.crop = 0.3};
  double smallest = 1, largest = 0;
  int64_t lefts = 0, tops = 0;
  for (int64_t index = 0; index < 500; ++index) {
    const Augmentation change = draw_augmentation(config, 200, 150, true, 1, 0, index);
    ASSERT_TRUE(change.left >= 0 && change.top >= 0 && change.left + change.width <= 200 &&
                change.top + change.height <= 150);
    const double share = static_cast<double>(change.width * change.height) / (200 * 150);
    smallest = std::min(smallest, share);
    largest = std::max(largest, share);
    const double ratio = static_cast<double>(change.width) / static_cast<double>(change.height);
    EXPECT_TRUE((ratio > 0.74 && ratio < 1.35) || share == 1) << ratio;
    lefts += change.left;
    tops += change.top;
    EXPECT_FALSE(change.flip);
    EXPECT_EQ(change.brightness, 1);
  }
  EXPECT_GT(smallest, 0.29);
  EXPECT_LT(smallest, 0.33);
  EXPECT_GT(largest, 0.9);
  EXPECT_GT(lefts, 500 * 10);
  EXPECT_GT(tops, 500 * 5);
}

TEST(AugmentTest, FlipsHalfOfThePictures) {
  const AugmentConfig config{.flip = true};
  int flips = 0;
  for (int64_t index = 0; index < 1000; ++index) {
    const Augmentation may = draw_augmentation(config, 8, 8, true, 1, 0, index);
    const Augmentation must_not = draw_augmentation(config, 8, 8, false, 1, 0, index);
    flips += may.flip;
    ASSERT_FALSE(must_not.flip);
  }
  EXPECT_NEAR(flips, 500, 60);
}

TEST(AugmentTest, WithoutSettingsItOnlyResizes) {
  const Image picture = noisy_picture(40, 30, 2);
  const Augmentation change = draw_augmentation({}, 40, 30, true, 1, 0, 0);
  EXPECT_EQ(augment(picture, change, 16, 12).pixels, resize(picture, 16, 12).pixels);
  EXPECT_FALSE(AugmentConfig{}.changes_anything());
  EXPECT_TRUE(AugmentConfig{.flip = true}.changes_anything());
}

TEST(AugmentTest, CropAndFlip) {
  const Image picture = noisy_picture(10, 6, 3);
  const Image result = augment(picture, {.left = 2, .top = 1, .width = 5, .height = 4, .flip = true}, 5, 4);
  for (int64_t y = 0; y < 4; ++y) {
    for (int64_t x = 0; x < 5; ++x) {
      for (int64_t c = 0; c < 3; ++c) {
        EXPECT_EQ(result.pixels[static_cast<size_t>(3 * (y * 5 + x) + c)],
                  picture.pixels[static_cast<size_t>(3 * ((y + 1) * 10 + 2 + 4 - x) + c)]);
      }
    }
  }
}

std::vector<uint8_t> recoloured(double brightness, double contrast, double saturation) {
  const Image picture{2, 1, {100, 50, 200, 0, 40, 80}};  // luma 82.05 and 32.6, mean 57.325
  return augment(picture,
                 {.width = 2, .height = 1, .brightness = brightness, .contrast = contrast, .saturation = saturation}, 2,
                 1)
      .pixels;
}

TEST(AugmentTest, ColoursByHand) {
  EXPECT_EQ(recoloured(0.5, 1, 1), (std::vector<uint8_t>{50, 25, 100, 0, 20, 40}));
  EXPECT_EQ(recoloured(1.5, 1, 1), (std::vector<uint8_t>{150, 75, 255, 0, 60, 120}));
  EXPECT_EQ(recoloured(1, 0, 1), (std::vector<uint8_t>(6, 57)));
  EXPECT_EQ(recoloured(1, 1, 0), (std::vector<uint8_t>{82, 82, 82, 33, 33, 33}));
  // 57.325 + 0.5 (p - 57.325), then half way to the luma 69.69 and 44.96.
  EXPECT_EQ(recoloured(1, 0.5, 0.5), (std::vector<uint8_t>{74, 62, 99, 37, 47, 57}));
}

TEST(AugmentTest, ColourFactorsAreWithinTheSetting) {
  double low = 1, high = 1;
  for (int64_t index = 0; index < 300; ++index) {
    const Augmentation change = draw_augmentation({.colour = 0.4}, 8, 8, true, 1, 0, index);
    for (const double factor : {change.brightness, change.contrast, change.saturation}) {
      low = std::min(low, factor);
      high = std::max(high, factor);
    }
  }
  EXPECT_NEAR(low, 0.6, 0.02);
  EXPECT_NEAR(high, 1.4, 0.02);
}

TEST(AugmentTest, Settings) {
  AugmentConfig config;
  Fields fields = fields_of(config);
  fields.find("crop").set_text("0.5");
  fields.find("flip").set_text("true");
  fields.find("colour").set_text("0.2");
  EXPECT_EQ(config.crop, 0.5);
  EXPECT_TRUE(config.flip);
  EXPECT_EQ(config.colour, 0.2);
  EXPECT_ERROR(fields.find("crop").set_text("0"), "crop");
  EXPECT_ERROR(fields.find("colour").set_text("1"), "colour");
}

TEST(AugmentTest, CaptionsThatMentionASide) {
  for (const char* caption : {"A dog on the left .", "The RIGHT one", "a left-handed man", "the leftmost dog",
                              "“right”", "Ein Hund links vom Baum", "der rechte Arm", "Rechts steht ein Mann.",
                              "mit der linken Hand", "ein Linkshänder", "左边的狗", "一个人举起右手", "left，right"}) {
    EXPECT_TRUE(mentions_side(caption)) << caption;
  }
  for (const char* caption : {"", "a bright dog", "a man upright", "leftover food", "ein rechteckiger Tisch",
                              "ein Gelenk", "eine gerechte Sache", "一只狗在草地上", "cleft", "der Lenker", "\xC3"}) {
    EXPECT_FALSE(mentions_side(caption)) << caption;
  }
}

}  // namespace
}  // namespace fovea
