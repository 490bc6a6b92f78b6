// Pictures for tests, and files of every kind that decode_image reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vision/image.h"

namespace fovea {

// Smooth colours, which JPEG keeps within a few levels; different along both axes.
Image smooth_picture(int64_t width, int64_t height);
// Each pixel is drawn at random.
Image noisy_picture(int64_t width, int64_t height, uint64_t seed);
// The largest difference of any two bytes; 256 if the sizes differ.
int largest_difference(const Image& a, const Image& b);

// An EXIF block with nothing but the orientation.
std::string exif_block(int orientation, bool big_endian);

enum class JpegKind { baseline, progressive, grey, cmyk, ycck, arithmetic };
// Of a grey file, red is stored. CMYK is stored inverted, as Adobe's programs do; black is `black` everywhere.
std::string write_jpeg(const Image& image, JpegKind kind, int black = 255);
// Inserts an APP1 segment with the EXIF block.
std::string add_jpeg_exif(std::string_view jpeg, std::string_view exif);

struct PngKind {
  int colour = 2, depth = 8;  // libpng's colour type; bits
  bool interlaced = false;
  std::string palette;       // [entries, 3]
  std::string transparency;  // alpha of the palette's entries
  std::string exif;
};
// `rows` are the bytes of the rows, as PNG stores them before they are filtered.
std::string write_png(int64_t width, int64_t height, const std::string& rows, const PngKind& kind);
// Makes the check sums of all chunks right again.
void repair_png(std::string& png);
std::string png_chunk(std::string_view name, std::string_view data);

// [height, width, 4]
std::string write_webp(const std::vector<uint8_t>& rgba, int64_t width, int64_t height, bool lossless);
// The chunks of a WebP file without its RIFF header.
std::string webp_chunks(std::string_view webp);
std::string webp_chunk(std::string_view name, std::string_view data);
// A file of a VP8X chunk with these flags and canvas and the given chunks.
std::string extended_webp(int flags, int64_t width, int64_t height, std::string_view chunks);
// An animation whose first frame is at (x, y); both must be even.
std::string animated_webp(int64_t width, int64_t height, int64_t x, int64_t y, const Image& frame);

std::vector<uint8_t> with_alpha(const Image& image, const std::vector<uint8_t>& alpha);

}  // namespace fovea
