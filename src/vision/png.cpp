#include "vision/png.h"

#include <png.h>

#include <csetjmp>

#include "base/error.h"
#include "vision/image.h"

namespace fovea {

namespace {

struct PixelView {
  int64_t width, height, channels;
  const uint8_t* bytes;
};

// libpng reports errors by a long jump, so no frame below write_png may own anything that needs a destructor.
void on_error(png_structp png, png_const_charp message) {
  *static_cast<std::string*>(png_get_error_ptr(png)) = message;
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void append(png_structp png, png_bytep bytes, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), size);
}
void flush(png_structp) {}

// Returns false if libpng reported an error.
bool write_png(png_structp png, png_infop info, const PixelView& pixels) {
  if (setjmp(png_jmpbuf(png))) return false;  // NOLINT(*-err52-cpp): libpng's only way
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.width), static_cast<png_uint_32>(pixels.height), 8,
               pixels.channels == 4 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  // Most lines repeat the line above, so the UP filter makes them zeros, which compress fast and small.
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
  png_set_compression_level(png, 3);
  png_write_info(png, info);
  const auto line = static_cast<size_t>(pixels.width * pixels.channels);
  for (size_t y = 0; y < static_cast<size_t>(pixels.height); ++y) {
    png_write_row(png, pixels.bytes + y * line);
  }
  png_write_end(png, info);
  return true;
}

std::string encode(const PixelView& pixels, size_t bytes) {
  check(pixels.width > 0 && pixels.height > 0 && (pixels.channels == 3 || pixels.channels == 4) &&
            bytes == static_cast<size_t>(pixels.width * pixels.height * pixels.channels),
        "encode_png: expected 3 or 4 bytes for each of {} x {} pixels, got {} bytes", pixels.width, pixels.height,
        bytes);
  std::string file, error = "libpng has no memory";
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, on_error, on_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  if (png != nullptr) png_set_write_fn(png, &file, append, flush);
  const bool written = info != nullptr && write_png(png, info, pixels);
  png_destroy_write_struct(&png, &info);
  check(written, "encode_png: {}", error);
  return file;
}

}  // namespace

std::string encode_png(const Pixels& pixels) {
  return encode({pixels.width, pixels.height, pixels.channels, pixels.bytes.data()}, pixels.bytes.size());
}

std::string encode_png(const Image& image) {
  return encode({image.width, image.height, 3, image.pixels.data()}, image.pixels.size());
}

}  // namespace fovea
