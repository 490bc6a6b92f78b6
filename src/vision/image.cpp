#include "vision/image.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "base/thousands.h"
#include "vision/formats.h"

namespace fovea {

namespace {

// What a file that is none of our formats most likely is, for the error message.
std::string kind_of_file(std::string_view bytes) {
  const auto has = [&](size_t at, std::string_view magic) {
    return bytes.size() >= at && bytes.substr(at).starts_with(magic);
  };
  if (bytes.empty()) return "an empty file";
  if (has(0, "GIF8")) return "a GIF file";
  if (has(0, "BM")) return "a BMP file";
  if (has(0, std::string_view("II*\0", 4)) || has(0, std::string_view("MM\0*", 4))) return "a TIFF file";
  if (has(4, "ftypavif")) return "an AVIF file";
  if (has(4, "ftyp")) return "a HEIC or video file";
  if (has(0, "%PDF")) return "a PDF file";
  if (has(0, "<svg") || has(0, "<?xml")) return "an SVG or XML file";
  return "another kind of file";
}

// Where the pixels of the upright picture are in the stored one: the index of its top left pixel, and the steps to the
// next pixel to the right and to the next one below. Orientations from 5 on exchange width and height.
struct Walk {
  int64_t start, right, down;
};
Walk walk_of(int orientation, int64_t width, int64_t height) {
  const int64_t last_column = width - 1, last_row = (height - 1) * width;
  switch (orientation) {
    case 2: return {last_column, -1, width};
    case 3: return {last_row + last_column, -1, -width};
    case 4: return {last_row, 1, -width};
    case 5: return {0, width, 1};
    case 6: return {last_row, -width, 1};
    case 7: return {last_row + last_column, -width, -1};
    case 8: return {last_column, width, -1};
    default: return {0, 1, width};
  }
}

Image upright(DecodedImage decoded) {
  Image& stored = decoded.image;
  if (decoded.orientation == 1) return std::move(stored);
  const bool exchanged = decoded.orientation >= 5;
  Image turned{exchanged ? stored.height : stored.width, exchanged ? stored.width : stored.height, {}};
  turned.pixels.resize(stored.pixels.size());
  const Walk walk = walk_of(decoded.orientation, stored.width, stored.height);
  uint8_t* out = turned.pixels.data();
  for (int64_t y = 0; y < turned.height; ++y) {
    const uint8_t* in = stored.pixels.data() + 3 * (walk.start + y * walk.down);
    for (int64_t x = 0; x < turned.width; ++x) {
      std::memcpy(out, in + 3 * x * walk.right, 3);
      out += 3;
    }
  }
  return turned;
}

enum class Format { kJpeg, kPng, kWebp };

constexpr size_t kMagicBytes = 12;  // of the longest

std::optional<Format> recognised(std::string_view bytes) {
  if (bytes.starts_with("\xFF\xD8\xFF")) return Format::kJpeg;
  if (bytes.starts_with("\x89PNG\r\n\x1A\n")) return Format::kPng;
  if (bytes.starts_with("RIFF") && bytes.size() >= kMagicBytes && bytes.substr(8, 4) == "WEBP") return Format::kWebp;
  return std::nullopt;
}

Format format_of(std::string_view bytes, const std::string& name) {
  if (const std::optional<Format> format = recognised(bytes)) return *format;
  fail("{}: expected a JPEG, PNG or WebP picture, got {}", name, kind_of_file(bytes));
}

Image decode_any(std::string_view bytes, const std::string& name, int64_t for_size) {
  switch (format_of(bytes, name)) {
    case Format::kJpeg: return upright(decode_jpeg(bytes, name, for_size));
    case Format::kPng: return upright(decode_png(bytes, name));
    case Format::kWebp: break;
  }
  return upright(decode_webp(bytes, name));
}

void check_file_size(size_t bytes, const std::string& name) {
  check(bytes <= static_cast<size_t>(kMaxImageBytes), "{}: expected a picture of at most {} MB", name,
        kMaxImageBytes / 1'000'000);
}

}  // namespace

void check_image_size(int64_t width, int64_t height, const std::string& name) {
  check(width > 0 && height > 0, "{}: the picture has no pixels", name);
  check(width <= kMaxImageSide && height <= kMaxImageSide && width * height <= kMaxImagePixels,
        "{}: expected a picture of at most {} megapixels and {} pixels a side, got {} x {}", name,
        kMaxImagePixels / 1'000'000, thousands(kMaxImageSide), width, height);
}

void check_image(const Image& image, std::string_view what) {
  check(image.width > 0 && image.height > 0 && image.width <= kMaxImageSide && image.height <= kMaxImageSide &&
            image.pixels.size() == static_cast<size_t>(image.width * image.height * 3),
        "{}: expected 3 bytes for each of {} x {} pixels, got {} bytes", what, image.width, image.height,
        image.pixels.size());
}

void blend_with_white(const uint8_t* rgba, int64_t pixels, uint8_t* out) {
  for (int64_t i = 0; i < pixels; ++i) {
    const int alpha = rgba[4 * i + 3];
    for (int64_t c = 0; c < 3; ++c) {
      const int blended = rgba[4 * i + c] * alpha + 255 * (255 - alpha);
      out[3 * i + c] = static_cast<uint8_t>((blended + 127) / 255);
    }
  }
}

Image decode_image(std::string_view bytes, const std::string& name, int64_t for_size) {
  check_file_size(bytes.size(), name);
  try {
    return decode_any(bytes, name, for_size);
  } catch (const std::bad_alloc&) {
    fail("{}: not enough memory for the picture", name);
  }
}

ImageSize image_size(std::string_view bytes, const std::string& name) {
  check_file_size(bytes.size(), name);
  switch (format_of(bytes, name)) {
    case Format::kJpeg: return jpeg_size(bytes, name);
    case Format::kPng: return png_size(bytes, name);
    case Format::kWebp: break;
  }
  return webp_size(bytes, name);
}

bool is_picture_file(const std::string& path) {
  std::error_code too_long;  // for the name of a file
  if (!std::filesystem::is_regular_file(path, too_long)) return false;
  std::array<char, kMagicBytes> start;
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), std::ssize(start));
  return recognised({start.data(), static_cast<size_t>(file.gcount())}).has_value();
}

Image read_image(const std::string& path, int64_t for_size) {
  InputFile file(path);
  std::string bytes;
  std::array<char, size_t{1} << 16> block;
  while (const size_t got = file.read(block.data(), block.size())) {
    check_file_size(bytes.size() + got, file.name());
    bytes.append(block.data(), got);
  }
  return decode_image(bytes, file.name(), for_size);
}

Image crop(const Image& image, int64_t left, int64_t top, int64_t width, int64_t height) {
  check_image(image, "crop");
  check(left >= 0 && top >= 0 && width > 0 && height > 0 && width <= image.width - left && height <= image.height - top,
        "crop: expected a rectangle inside {} x {} pixels, got {} x {} at ({}, {})", image.width, image.height, width,
        height, left, top);
  Image part{width, height, {}};
  part.pixels.reserve(static_cast<size_t>(width * height * 3));
  for (int64_t y = top; y < top + height; ++y) {
    const auto begin = image.pixels.begin() + 3 * (y * image.width + left);
    part.pixels.insert(part.pixels.end(), begin, begin + 3 * width);
  }
  return part;
}

}  // namespace fovea
