// Pictures: read from files, resized, written to files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct Image {  // RGB, 8 bits, rows from the top
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 3]
};

struct ImageSize {
  int64_t width = 0, height = 0;
};

// Larger files and pictures are refused before memory is allocated for them.
constexpr int64_t kMaxImageBytes = 100'000'000;
constexpr int64_t kMaxImagePixels = 100'000'000;
constexpr int64_t kMaxImageSide = 65'535;

// Decodes JPEG, PNG or WebP, recognised by the first bytes. The EXIF orientation is applied; grey, CMYK, palettes and
// 16 bits are converted; transparent pixels are blended with white; an animation gives its first frame. Errors, also
// for truncated files, name `name`.
//
// A caller that will resize the picture passes the length of its longer side then as `for_size`. A JPEG is decoded at
// 1/2, 1/4 or 1/8, which is faster, if both sides stay at least twice as long; with less, details would differ visibly.
Image decode_image(std::string_view bytes, const std::string& name, int64_t for_size = 0);
// The size that the file's header tells, before EXIF's orientation; nothing is decoded.
ImageSize image_size(std::string_view bytes, const std::string& name);
Image read_image(const std::string& path, int64_t for_size = 0);
// Whether the path is that of a file that begins as a JPEG, PNG or WebP picture does.
bool is_picture_file(const std::string& path);

// Resizes with a triangle filter, which averages over all pixels when it shrinks: equal to PIL's
// Image.resize(BILINEAR) bit by bit.
Image resize(const Image& image, int64_t width, int64_t height);
// The rectangle of that size whose top left pixel is (left, top).
Image crop(const Image& image, int64_t left, int64_t top, int64_t width, int64_t height);

std::string encode_jpeg(const Image& image, int quality = 85);  // 1 to 100
std::string encode_png(const Image& image);

}  // namespace fovea
