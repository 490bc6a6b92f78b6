// Every kind of JPEG, PNG and WebP file becomes the pixels that were stored.
#include <gtest/gtest.h>
#include <zlib.h>

#include "support.h"
#include "temporary_folder.h"
#include "vision/encoders.h"
#include "vision/image.h"
#include "vision/png.h"

namespace fovea {
namespace {

std::string bytes_of(const Image& image) { return {image.pixels.begin(), image.pixels.end()}; }

Image grey_of(const Image& image) {  // red in all three channels
  Image grey = image;
  for (size_t i = 0; i < grey.pixels.size(); ++i) grey.pixels[i] = image.pixels[i - i % 3];
  return grey;
}

// (stored * alpha + white * (255 - alpha)) / 255
Image over_white(const Image& image, const std::vector<uint8_t>& alpha) {
  Image blended = image;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    const double a = alpha[i / 3] / 255.0;
    blended.pixels[i] = static_cast<uint8_t>(image.pixels[i] * a + 255 * (1 - a) + 0.5);
  }
  return blended;
}

std::vector<uint8_t> some_alpha(const Image& image) {
  std::vector<uint8_t> alpha;
  for (int64_t i = 0; i < image.width * image.height; ++i) alpha.push_back(static_cast<uint8_t>(i * 7));
  return alpha;
}

TEST(DecodeTest, WhatWasEncodedComesBack) {
  const Image picture = smooth_picture(61, 43);
  EXPECT_EQ(largest_difference(decode_image(encode_png(picture), "a.png"), picture), 0);
  EXPECT_LE(largest_difference(decode_image(encode_jpeg(picture, 95), "a.jpg"), picture), 8);
  EXPECT_LT(encode_jpeg(picture, 20).size(), encode_jpeg(picture, 95).size());
}

TEST(DecodeTest, Jpeg) {
  const Image picture = smooth_picture(61, 43);
  EXPECT_LE(largest_difference(decode_image(write_jpeg(picture, JpegKind::baseline), "a"), picture), 8);
  EXPECT_LE(largest_difference(decode_image(write_jpeg(picture, JpegKind::progressive), "a"), picture), 8);
  EXPECT_LE(largest_difference(decode_image(write_jpeg(picture, JpegKind::arithmetic), "a"), picture), 8);
  EXPECT_LE(largest_difference(decode_image(write_jpeg(picture, JpegKind::grey), "a"), grey_of(picture)), 4);
}

TEST(DecodeTest, CmykJpegIsStoredInverted) {
  const Image picture = smooth_picture(61, 43);
  Image darker = picture;
  for (uint8_t& value : darker.pixels) value = static_cast<uint8_t>(value * 100 / 255);
  for (const JpegKind kind : {JpegKind::cmyk, JpegKind::ycck}) {
    EXPECT_LE(largest_difference(decode_image(write_jpeg(picture, kind), "a"), picture), 8);
    EXPECT_LE(largest_difference(decode_image(write_jpeg(picture, kind, 100), "a"), darker), 6);
  }
}

TEST(DecodeTest, JpegAtReducedScale) {
  const Image picture = smooth_picture(1000, 600);
  const std::string file = encode_jpeg(picture, 95);
  const auto size_for = [&](int64_t for_size) {
    const Image image = decode_image(file, "a", for_size);
    EXPECT_LE(largest_difference(image, resize(picture, image.width, image.height)), 8) << for_size;
    return std::pair(image.width, image.height);
  };
  EXPECT_EQ(size_for(0), std::pair(int64_t{1000}, int64_t{600}));
  EXPECT_EQ(size_for(37), std::pair(int64_t{125}, int64_t{75}));
  EXPECT_EQ(size_for(38), std::pair(int64_t{250}, int64_t{150}));
  EXPECT_EQ(size_for(112), std::pair(int64_t{500}, int64_t{300}));
  EXPECT_EQ(size_for(151), std::pair(int64_t{1000}, int64_t{600}));
  EXPECT_EQ(size_for(5000), std::pair(int64_t{1000}, int64_t{600}));
}

class PngInterlace : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, PngInterlace, testing::Bool());

TEST_P(PngInterlace, TrueColourWithAndWithoutAlpha) {
  const Image picture = noisy_picture(19, 13, 1);
  PngKind kind{.interlaced = GetParam()};
  EXPECT_EQ(largest_difference(decode_image(write_png(19, 13, bytes_of(picture), kind), "a"), picture), 0);
  const std::vector<uint8_t> alpha = some_alpha(picture), rgba = with_alpha(picture, alpha);
  kind.colour = 6;
  const Image decoded = decode_image(write_png(19, 13, {rgba.begin(), rgba.end()}, kind), "a");
  EXPECT_EQ(largest_difference(decoded, over_white(picture, alpha)), 0);
}

TEST_P(PngInterlace, SixteenBits) {
  const Image picture = noisy_picture(19, 13, 2);
  std::string rows;
  for (const uint8_t value : picture.pixels) rows += {static_cast<char>(value), static_cast<char>(value)};
  const PngKind kind{.depth = 16, .interlaced = GetParam()};
  EXPECT_EQ(largest_difference(decode_image(write_png(19, 13, rows, kind), "a"), picture), 0);
}

// One pixel for each value of 1, 2, 4 or 8 bits, in one row.
std::string all_values(int depth) {
  std::string row;
  for (int i = 0; i < (1 << depth) * depth / 8 || i == 0; ++i) {
    if (depth == 1) row += '\x40';  // 0 1
    if (depth == 2) row += '\x1B';  // 0 1 2 3
    if (depth == 4) row += static_cast<char>(2 * i << 4 | (2 * i + 1));
    if (depth == 8) row += static_cast<char>(i);
  }
  return row;
}

TEST_P(PngInterlace, GreyOfEveryDepth) {
  for (const int depth : {1, 2, 4, 8}) {
    const int64_t values = 1 << depth;
    const PngKind kind{.colour = 0, .depth = depth, .interlaced = GetParam()};
    const Image decoded = decode_image(write_png(values, 1, all_values(depth), kind), "a");
    ASSERT_EQ(decoded.width, values);
    for (int64_t i = 0; i < 3 * values; ++i) {
      EXPECT_EQ(decoded.pixels[static_cast<size_t>(i)], i / 3 * 255 / (values - 1)) << depth << " bits";
    }
  }
}

TEST_P(PngInterlace, PalettesOfEveryDepth) {
  for (const int depth : {1, 2, 4, 8}) {
    const int64_t values = 1 << depth;
    const Image colours = noisy_picture(values, 1, 3);
    PngKind kind{.colour = 3, .depth = depth, .interlaced = GetParam(), .palette = bytes_of(colours)};
    EXPECT_EQ(largest_difference(decode_image(write_png(values, 1, all_values(depth), kind), "a"), colours), 0);
    kind.transparency = std::string("\x00\x80", 2);  // the other entries are opaque
    std::vector<uint8_t> alpha(static_cast<size_t>(values), 255);
    alpha[0] = 0;
    alpha[1] = 0x80;
    EXPECT_EQ(largest_difference(decode_image(write_png(values, 1, all_values(depth), kind), "a"),
                                 over_white(colours, alpha)),
              0);
  }
}

TEST(DecodeTest, GreyPngWithAlpha) {
  const std::string rows = {'\x00', '\xFF', '\x00', '\x00', '\x64', '\x33'};  // black, nothing, 100 at a fifth
  const Image decoded = decode_image(write_png(3, 1, rows, {.colour = 4}), "a");
  EXPECT_EQ(decoded.pixels, (std::vector<uint8_t>{0, 0, 0, 255, 255, 255, 224, 224, 224}));
}

TEST(DecodeTest, PngCommentsAreSkipped) {  // a text that inflates to 50 MB, and a colour profile that is none
  const std::vector<Bytef> text(50'000'000);
  uLongf size = compressBound(text.size());
  std::string packed(size, '\0');
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &size, text.data(), text.size()), Z_OK);
  const Image picture = noisy_picture(5, 4, 4);
  std::string png = encode_png(picture);
  png.insert(33, png_chunk("zTXt", std::string("a\0\0", 3) + packed.substr(0, size)) + png_chunk("iCCP", "broken"));
  EXPECT_EQ(largest_difference(decode_image(png, "a"), picture), 0);
}

TEST(DecodeTest, Webp) {
  const Image picture = smooth_picture(61, 43);
  const std::vector<uint8_t> alpha = some_alpha(picture), opaque(alpha.size(), 255);
  const auto decoded = [&](const std::vector<uint8_t>& a, bool lossless) {
    return decode_image(write_webp(with_alpha(picture, a), 61, 43, lossless), "a");
  };
  EXPECT_EQ(largest_difference(decoded(opaque, true), picture), 0);
  EXPECT_LE(largest_difference(decoded(opaque, false), picture), 12);
  // Lossless files need not keep the colour of transparent pixels, which is not seen.
  EXPECT_EQ(largest_difference(decoded(alpha, true), over_white(picture, alpha)), 0);
  EXPECT_LE(largest_difference(decoded(alpha, false), over_white(picture, alpha)), 16);
}

TEST(DecodeTest, AnimatedWebpGivesItsFirstFrame) {
  const Image frame = noisy_picture(6, 4, 5), decoded = decode_image(animated_webp(12, 10, 4, 2, frame), "a");
  ASSERT_EQ(decoded.width, 12);
  ASSERT_EQ(decoded.height, 10);
  EXPECT_EQ(largest_difference(crop(decoded, 4, 2, 6, 4), frame), 0);
  EXPECT_EQ(decoded.pixels[0], 255);
  EXPECT_EQ(decoded.pixels.back(), 255);
}

// The sides of the upright picture at which EXIF's specification puts the first stored row and column.
struct Sides {
  char row, column;
};
constexpr Sides kSides[] = {{'t', 'l'}, {'t', 'r'}, {'b', 'r'}, {'b', 'l'},
                            {'l', 't'}, {'r', 't'}, {'r', 'b'}, {'l', 'b'}};

Image turned(const Image& stored, int orientation) {
  const Sides sides = kSides[orientation - 1];
  const bool exchanged = sides.row == 'l' || sides.row == 'r';
  Image upright{exchanged ? stored.height : stored.width, exchanged ? stored.width : stored.height, stored.pixels};
  for (int64_t y = 0; y < stored.height; ++y) {
    for (int64_t x = 0; x < stored.width; ++x) {
      int64_t to_x = 0, to_y = 0;
      const auto place = [&](char side, int64_t distance) {
        if (side == 't') to_y = distance;
        if (side == 'b') to_y = upright.height - 1 - distance;
        if (side == 'l') to_x = distance;
        if (side == 'r') to_x = upright.width - 1 - distance;
      };
      place(sides.row, y);
      place(sides.column, x);
      std::copy_n(&stored.pixels[static_cast<size_t>(3 * (y * stored.width + x))], 3,
                  &upright.pixels[static_cast<size_t>(3 * (to_y * upright.width + to_x))]);
    }
  }
  return upright;
}

TEST(DecodeTest, EveryOrientation) {
  const Image noise = noisy_picture(5, 3, 6), smooth = smooth_picture(40, 24);
  const std::vector<uint8_t> rgba = with_alpha(noise, std::vector<uint8_t>(15, 255));
  const std::string webp = webp_chunks(write_webp(rgba, 5, 3, true)), jpeg = write_jpeg(smooth, JpegKind::baseline);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      const std::string exif = exif_block(orientation, big_endian);
      const Image expected = turned(noise, orientation);
      EXPECT_EQ(largest_difference(decode_image(write_png(5, 3, bytes_of(noise), {.exif = exif}), "a"), expected), 0)
          << orientation;
      EXPECT_EQ(
          largest_difference(decode_image(extended_webp(0x08, 5, 3, webp + webp_chunk("EXIF", exif)), "a"), expected),
          0)
          << orientation;
      EXPECT_LE(largest_difference(decode_image(add_jpeg_exif(jpeg, exif), "a"), turned(smooth, orientation)), 8)
          << orientation;
    }
  }
}

TEST(DecodeTest, DamagedOrientationIsUpright) {
  const Image picture = noisy_picture(5, 3, 7);
  const std::string good = exif_block(6, true);
  for (const std::string& exif : {good.substr(0, 12), exif_block(9, true), exif_block(0, false), "MM?" + good.substr(3),
                                  good.substr(0, 4) + "\xFF\xFF\xFF\xFE" + good.substr(8)}) {
    EXPECT_EQ(largest_difference(decode_image(write_png(5, 3, bytes_of(picture), {.exif = exif}), "a"), picture), 0);
  }
}

TEST(DecodeTest, ReadsFiles) {
  const TemporaryFolder folder;
  const Image picture = noisy_picture(5, 3, 8);
  EXPECT_EQ(largest_difference(read_image(folder.file("a.png", encode_png(picture))), picture), 0);
  EXPECT_ERROR(read_image(folder.file("missing.png")), "missing.png: cannot open");
  EXPECT_ERROR(read_image(folder.path()), "expected a file, got a directory");
  EXPECT_ERROR(read_image(folder.file("b.gif", "GIF89a.....")),
               "b.gif: expected a JPEG, PNG or WebP picture, got a GIF");
  EXPECT_ERROR(read_image(folder.file("c.jpg", "")), "c.jpg: expected a JPEG, PNG or WebP picture, got an empty file");
}

TEST(EncodeTest, RefusesWrongSizes) {
  EXPECT_ERROR(encode_jpeg(Image{2, 2, std::vector<uint8_t>(11)}), "expected 3 bytes for each of 2 x 2 pixels, got 11");
  EXPECT_ERROR(encode_jpeg(Image{}), "encode_jpeg");
  EXPECT_ERROR(encode_png(Image{2, 2, std::vector<uint8_t>(11)}), "encode_png");
  EXPECT_ERROR(encode_jpeg(smooth_picture(2, 2), 0), "expected a quality from 1 to 100, got 0");
}

TEST(EncodeTest, PngWithAlpha) {
  const Image picture = noisy_picture(5, 3, 9);
  const std::vector<uint8_t> alpha = some_alpha(picture);
  EXPECT_EQ(largest_difference(decode_image(encode_png(Pixels{5, 3, 4, with_alpha(picture, alpha)}), "a"),
                               over_white(picture, alpha)),
            0);
}

}  // namespace
}  // namespace fovea
