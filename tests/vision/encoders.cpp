#include "vision/encoders.h"

#include <cstdio>
#include <cstdlib>
// jpeglib.h needs size_t and FILE.
#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>
#include <zlib.h>

#include <algorithm>

#include "base/error.h"
#include "base/random.h"

namespace fovea {

namespace {

std::string number(uint64_t value, int bytes, bool big_endian) {
  std::string result;
  for (int i = 0; i < bytes; ++i) result += static_cast<char>(value >> 8 * (big_endian ? bytes - 1 - i : i));
  return result;
}
std::string big(uint64_t value, int bytes) { return number(value, bytes, true); }
std::string little(uint64_t value, int bytes) { return number(value, bytes, false); }

}  // namespace

Image smooth_picture(int64_t width, int64_t height) {
  Image image{width, height, {}};
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      image.pixels.push_back(static_cast<uint8_t>(20 + 200 * x / width));
      image.pixels.push_back(static_cast<uint8_t>(230 - 180 * y / height));
      image.pixels.push_back(static_cast<uint8_t>(60 + 60 * x / width + 90 * y / height));
    }
  }
  return image;
}

Image noisy_picture(int64_t width, int64_t height, uint64_t seed) {
  Random random(seed);
  Image image{width, height, std::vector<uint8_t>(static_cast<size_t>(3 * width * height))};
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.bits());
  return image;
}

int largest_difference(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height || a.pixels.size() != b.pixels.size()) return 256;
  int largest = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) largest = std::max(largest, std::abs(a.pixels[i] - b.pixels[i]));
  return largest;
}

std::string exif_block(int orientation, bool big_endian) {
  const auto n = [&](uint64_t value, int bytes) { return number(value, bytes, big_endian); };
  const std::string entry = n(0x0112, 2) + n(3, 2) + n(1, 4) + n(static_cast<uint64_t>(orientation), 2) + n(0, 2);
  return (big_endian ? "MM" : "II") + n(42, 2) + n(8, 4) + n(1, 2) + entry + n(0, 4);
}

std::string write_jpeg(const Image& image, JpegKind kind, int black) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
  jpeg_mem_dest(&jpeg, &bytes, &size);
  const bool cmyk = kind == JpegKind::cmyk || kind == JpegKind::ycck, grey = kind == JpegKind::grey;
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = cmyk ? 4 : grey ? 1 : 3;
  jpeg.in_color_space = cmyk ? JCS_CMYK : grey ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (kind == JpegKind::ycck) jpeg_set_colorspace(&jpeg, JCS_YCCK);
  jpeg_set_quality(&jpeg, 95, TRUE);
  if (kind == JpegKind::progressive) jpeg_simple_progression(&jpeg);
  jpeg.arith_code = kind == JpegKind::arithmetic;
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<uint8_t> row;
  for (int64_t y = 0; y < image.height; ++y) {
    row.clear();
    for (int64_t x = 0; x < image.width; ++x) {
      const uint8_t* pixel = &image.pixels[static_cast<size_t>(3 * (y * image.width + x))];
      row.insert(row.end(), pixel, pixel + (grey ? 1 : 3));
      if (cmyk) row.push_back(static_cast<uint8_t>(black));
    }
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&jpeg, &rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);  // NOLINT(*-no-malloc)
  return file;
}

std::string add_jpeg_exif(std::string_view jpeg, std::string_view exif) {
  return std::string(jpeg.substr(0, 2)) + "\xFF\xE1" + big(exif.size() + 8, 2) + std::string("Exif\0\0", 6) +
         std::string(exif) + std::string(jpeg.substr(2));
}

std::string write_png(int64_t width, int64_t height, const std::string& rows, const PngKind& kind) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string file;
  png_set_write_fn(
      png, &file,
      [](png_structp p, png_bytep bytes, size_t size) {
        static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<const char*>(bytes), size);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height), kind.depth, kind.colour,
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color> palette;
  for (size_t i = 0; i + 2 < kind.palette.size(); i += 3) {
    const auto* entry = reinterpret_cast<const png_byte*>(&kind.palette[i]);
    palette.push_back({entry[0], entry[1], entry[2]});
  }
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  std::vector<png_byte> alpha(kind.transparency.begin(), kind.transparency.end());
  if (!alpha.empty()) png_set_tRNS(png, info, alpha.data(), static_cast<int>(alpha.size()), nullptr);
  std::vector<png_byte> exif(kind.exif.begin(), kind.exif.end());
  if (!exif.empty()) png_set_eXIf_1(png, info, static_cast<png_uint_32>(exif.size()), exif.data());
  png_write_info(png, info);
  const size_t row = png_get_rowbytes(png, info);
  check(rows.size() == row * static_cast<size_t>(height), "write_png: expected {} bytes a row", row);
  std::vector<png_byte> bytes(rows.begin(), rows.end());
  std::vector<png_bytep> pointers;
  for (size_t y = 0; y < static_cast<size_t>(height); ++y) pointers.push_back(&bytes[y * row]);
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string png_chunk(std::string_view name, std::string_view data) {
  const std::string body = std::string(name) + std::string(data);
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big(data.size(), 4) + body + big(sum, 4);
}

void repair_png(std::string& png) {
  size_t at = 8;
  while (at + 12 <= png.size()) {
    size_t size = 0;
    for (size_t i = at; i < at + 4; ++i) size = size << 8 | static_cast<unsigned char>(png[i]);
    if (size > png.size() - at - 12) return;
    const auto sum = crc32(0, reinterpret_cast<const Bytef*>(&png[at + 4]), static_cast<uInt>(size + 4));
    png.replace(at + 8 + size, 4, big(sum, 4));
    at += 12 + size;
  }
}

std::string write_webp(const std::vector<uint8_t>& rgba, int64_t width, int64_t height, bool lossless) {
  uint8_t* bytes = nullptr;
  const int w = static_cast<int>(width), h = static_cast<int>(height);
  const size_t size = lossless ? WebPEncodeLosslessRGBA(rgba.data(), w, h, 4 * w, &bytes)
                               : WebPEncodeRGBA(rgba.data(), w, h, 4 * w, 90, &bytes);
  std::string file(reinterpret_cast<const char*>(bytes), size);
  WebPFree(bytes);
  return file;
}

std::string webp_chunks(std::string_view webp) {
  std::string_view chunks = webp.substr(12);
  if (chunks.starts_with("VP8X")) chunks.remove_prefix(18);
  return std::string(chunks);
}

std::string webp_chunk(std::string_view name, std::string_view data) {
  return std::string(name) + little(data.size(), 4) + std::string(data) + (data.size() % 2 ? std::string(1, '\0') : "");
}

std::string extended_webp(int flags, int64_t width, int64_t height, std::string_view chunks) {
  const std::string header = little(static_cast<uint64_t>(flags), 4) + little(static_cast<uint64_t>(width - 1), 3) +
                             little(static_cast<uint64_t>(height - 1), 3);
  const std::string body = "WEBP" + webp_chunk("VP8X", header) + std::string(chunks);
  return "RIFF" + little(body.size(), 4) + body;
}

std::string animated_webp(int64_t width, int64_t height, int64_t x, int64_t y, const Image& frame) {
  const auto n = [](int64_t value) { return little(static_cast<uint64_t>(value), 3); };
  const auto full = [](const Image& i) {
    return with_alpha(i, std::vector<uint8_t>(static_cast<size_t>(i.width * i.height), 255));
  };
  const std::string chunk = webp_chunks(write_webp(full(frame), frame.width, frame.height, true));
  const std::string first = n(x / 2) + n(y / 2) + n(frame.width - 1) + n(frame.height - 1) + n(100) + '\0' + chunk;
  const std::string second = n(0) + n(0) + n(frame.width - 1) + n(frame.height - 1) + n(100) + '\0' + chunk;
  return extended_webp(
      0x02, width, height,
      webp_chunk("ANIM", std::string(6, '\0')) + webp_chunk("ANMF", first) + webp_chunk("ANMF", second));
}

std::vector<uint8_t> with_alpha(const Image& image, const std::vector<uint8_t>& alpha) {
  std::vector<uint8_t> rgba;
  for (size_t i = 0; i < alpha.size(); ++i) {
    rgba.insert(rgba.end(), image.pixels.begin() + static_cast<int64_t>(3 * i),
                image.pixels.begin() + static_cast<int64_t>(3 * i + 3));
    rgba.push_back(alpha[i]);
  }
  return rgba;
}

}  // namespace fovea
