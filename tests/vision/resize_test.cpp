#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/threads.h"
#include "support.h"
#include "vision/encoders.h"
#include "vision/image.h"

namespace fovea {
namespace {

Image row_of(const std::vector<uint8_t>& values) {  // grey
  Image image{static_cast<int64_t>(values.size()), 1, {}};
  for (const uint8_t value : values) image.pixels.insert(image.pixels.end(), 3, value);
  return image;
}
Image column_of(const std::vector<uint8_t>& values) {
  Image image = row_of(values);
  std::swap(image.width, image.height);
  return image;
}

void expect_resized(const std::vector<uint8_t>& from, const std::vector<uint8_t>& to) {
  const auto size = static_cast<int64_t>(to.size());
  EXPECT_EQ(resize(row_of(from), size, 1).pixels, row_of(to).pixels);
  EXPECT_EQ(resize(column_of(from), 1, size).pixels, column_of(to).pixels);
}

TEST(ResizeTest, ByHand) {
  // Half the size: the triangle around 1.0 has half width 2, so pixels at 0.5, 1.5 and 2.5 have weights 3 : 3 : 1;
  // (0 * 3 + 100 * 3 + 200) / 7 = 71.4, (100 + 200 * 3 + 50 * 3) / 7 = 121.4.
  expect_resized({0, 100, 200, 50}, {71, 121});
  // Twice the size: 1/4 and 3/4 between the centres of pixels, the first and last pixel beyond them.
  expect_resized({0, 100}, {0, 25, 75, 100});
  // To a third: half width 3 around 1.5; distances 1, 0, 1, 2, (3) have weights 2 : 3 : 2 : 1.
  expect_resized({80, 0, 0, 40, 120, 160}, {(80 * 2 + 40) / 8, (0 * 1 + 40 * 2 + 120 * 3 + 160 * 2) / 8});
  expect_resized({255, 255, 255}, {255, 255, 255, 255, 255, 255, 255});
  expect_resized({7}, {7, 7, 7});
}

// The filter in two dimensions, in doubles, without rounding in between.
Image exact(const Image& image, int64_t width, int64_t height) {
  const auto weight = [](int64_t from, int64_t to, int64_t i, int64_t j) {
    const double scale = static_cast<double>(from) / static_cast<double>(to);
    const double centre = (static_cast<double>(j) + 0.5) * scale, distance = static_cast<double>(i) + 0.5 - centre;
    return std::max(0.0, 1 - std::abs(distance) / std::max(1.0, scale));
  };
  Image out{width, height, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      double sums[3] = {}, total = 0;
      for (int64_t v = 0; v < image.height; ++v) {
        for (int64_t u = 0; u < image.width; ++u) {
          const double w = weight(image.width, width, u, x) * weight(image.height, height, v, y);
          total += w;
          for (int64_t c = 0; c < 3; ++c)
            sums[c] += w * image.pixels[static_cast<size_t>(3 * (v * image.width + u) + c)];
        }
      }
      for (const double sum : sums) out.pixels.push_back(static_cast<uint8_t>(sum / total + 0.5));
    }
  }
  return out;
}

TEST(ResizeTest, WithinOneLevelOfTheExactFilter) {
  const Image picture = noisy_picture(37, 23, 1);
  for (const auto& [width, height] :
       {std::pair<int64_t, int64_t>{37, 23}, {16, 16}, {5, 23}, {37, 4}, {1, 1}, {64, 10}, {90, 61}, {36, 24}}) {
    EXPECT_LE(largest_difference(resize(picture, width, height), exact(picture, width, height)), 1)
        << width << " x " << height;
  }
}

TEST(ResizeTest, EqualsPil) {  // Image.resize((3, 4), Image.BILINEAR) of PIL 9.4 for this picture
  Image picture{7, 5, {}};
  for (int i = 0; i < 7 * 5 * 3; ++i) picture.pixels.push_back(static_cast<uint8_t>(i * i * 31 % 251));
  EXPECT_EQ(
      resize(picture, 3, 4).pixels,
      (std::vector<uint8_t>{42,  123, 109, 77, 128, 164, 124, 151, 119, 84,  120, 133, 60, 174, 153, 103, 117, 140,
                            122, 119, 125, 82, 114, 131, 104, 142, 156, 144, 121, 97,  80, 82,  109, 141, 63,  168}));
}

TEST(ResizeTest, ThreadsDoNotChangeTheResult) {  // large enough for several threads
  const Image picture = noisy_picture(2500, 1500, 2);
  const auto resized = [&](int threads) {
    const ThreadCountScope scope(threads);
    return resize(picture, 1000, 700);
  };
  EXPECT_EQ(largest_difference(resized(1), resized(3)), 0);
}

TEST(ResizeTest, ExtremeShapes) {
  const Image tall = smooth_picture(1, 60'000), wide = resize(tall, 60'000, 1);
  EXPECT_EQ(wide.width, 60'000);
  EXPECT_EQ(wide.pixels.size(), 180'000U);
  EXPECT_ERROR(resize(tall, 0, 5), "resize: the picture has no pixels");
  EXPECT_ERROR(resize(tall, 60'000, 60'000), "resize: expected a picture of at most 100 megapixels");
  EXPECT_ERROR(resize(Image{}, 5, 5), "resize: expected 3 bytes for each of 0 x 0 pixels");
}

TEST(CropTest, TakesTheRectangle) {
  const Image picture = smooth_picture(10, 8), part = crop(picture, 3, 2, 4, 5);
  ASSERT_EQ(part.pixels.size(), 60U);
  for (int64_t y = 0; y < 5; ++y) {
    for (int64_t x = 0; x < 12; ++x) {
      EXPECT_EQ(part.pixels[static_cast<size_t>(y * 12 + x)],
                picture.pixels[static_cast<size_t>((y + 2) * 30 + 9 + x)]);
    }
  }
  EXPECT_ERROR(crop(picture, 7, 0, 4, 1), "crop: expected a rectangle inside 10 x 8 pixels, got 4 x 1 at (7, 0)");
  EXPECT_ERROR(crop(picture, -1, 0, 4, 1), "crop: expected a rectangle inside");
}

}  // namespace
}  // namespace fovea
