#include "view/png.h"

#include <png.h>

#include <csetjmp>

#ifdef FOVEA_RSVG
#include <cairo.h>
#include <librsvg/rsvg.h>

#include <algorithm>
#include <cmath>
#include <memory>
#endif

#include "base/error.h"

namespace fovea {

namespace {

// libpng reports errors by a long jump: below it there is nothing to destroy.
void on_error(png_structp png, png_const_charp message) {
  *static_cast<std::string*>(png_get_error_ptr(png)) = message;
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void append(png_structp png, png_bytep bytes, size_t size) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), size);
}
void flush(png_structp) {}

// False when it failed.
bool write_png(png_structp png, png_infop info, const Pixels& pixels) {
  if (setjmp(png_jmpbuf(png))) return false;  // NOLINT(*-err52-cpp): libpng's only way
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.width), static_cast<png_uint_32>(pixels.height), 8,
               pixels.channels == 4 ? PNG_COLOR_TYPE_RGB_ALPHA : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  // Cells repeat from line to line: less the line above they are nothing, quickly written and small.
  png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_UP);
  png_set_compression_level(png, 3);
  png_write_info(png, info);
  const auto line = static_cast<size_t>(pixels.width * pixels.channels);
  for (size_t y = 0; y < static_cast<size_t>(pixels.height); ++y) {
    png_write_row(png, pixels.bytes.data() + y * line);
  }
  png_write_end(png, info);
  return true;
}

}  // namespace

std::string encode_png(const Pixels& pixels) {
  check(pixels.width > 0 && pixels.height > 0 && (pixels.channels == 3 || pixels.channels == 4) &&
            pixels.bytes.size() == static_cast<size_t>(pixels.width * pixels.height * pixels.channels),
        "encode_png: expected 3 or 4 bytes for each of {} x {} pixels, got {} bytes", pixels.width, pixels.height,
        pixels.bytes.size());
  std::string file, error = "libpng has no memory";
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error, on_error, on_warning);
  png_infop info = png != nullptr ? png_create_info_struct(png) : nullptr;
  if (png != nullptr) png_set_write_fn(png, &file, append, flush);
  const bool written = info != nullptr && write_png(png, info, pixels);
  png_destroy_write_struct(&png, &info);
  check(written, "encode_png: {}", error);
  return file;
}

#ifdef FOVEA_RSVG

namespace {

struct Release {
  void operator()(RsvgHandle* handle) const { g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
template <class T> using Owned = std::unique_ptr<T, Release>;

void check_glib(bool ok, GError* error) {
  if (ok) return;
  const std::string why = error != nullptr ? error->message : "for no reason it gave";
  g_clear_error(&error);
  fail("svg_to_png: librsvg failed: {}", why);
}

double fitting(double scale, double width, double height) {
  constexpr double kMostSide = 16384, kMostPixels = 64e6;
  return std::min({scale, kMostSide / width, kMostSide / height, std::sqrt(kMostPixels / (width * height))});
}

Pixels pixels_of(cairo_surface_t* surface) {
  cairo_surface_flush(surface);
  Pixels pixels{cairo_image_surface_get_width(surface), cairo_image_surface_get_height(surface), 3, {}};
  pixels.bytes.resize(static_cast<size_t>(pixels.width * pixels.height * 3));
  uint8_t* to = pixels.bytes.data();
  for (int64_t y = 0; y < pixels.height; ++y) {
    const unsigned char* line = cairo_image_surface_get_data(surface) + y * cairo_image_surface_get_stride(surface);
    const auto* from = reinterpret_cast<const uint32_t*>(line);  // 0x00RRGGBB, cairo aligns it
    for (int64_t x = 0; x < pixels.width; ++x, to += 3) {
      to[0] = static_cast<uint8_t>(from[x] >> 16);
      to[1] = static_cast<uint8_t>(from[x] >> 8);
      to[2] = static_cast<uint8_t>(from[x]);
    }
  }
  return pixels;
}

}  // namespace

std::string svg_to_png(const std::string& svg, double scale) {
  check(scale > 0, "svg_to_png: expected a scale above 0, got {}", scale);
  GError* error = nullptr;
  const Owned<RsvgHandle> handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), svg.size(), &error));
  check_glib(handle != nullptr, error);
  double width = 0, height = 0;
  check(rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) && width > 0 && height > 0,
        "svg_to_png: expected an SVG with a width and a height");
  const double by = fitting(scale, width, height);
  const RsvgRectangle whole{0, 0, std::max(1.0, std::round(width * by)), std::max(1.0, std::round(height * by))};
  const Owned<cairo_surface_t> surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(whole.width), static_cast<int>(whole.height)));
  const Owned<cairo_t> context(cairo_create(surface.get()));
  check(cairo_status(context.get()) == CAIRO_STATUS_SUCCESS, "svg_to_png: {}",
        cairo_status_to_string(cairo_status(context.get())));
  cairo_set_source_rgb(context.get(), 1, 1, 1);
  cairo_paint(context.get());
  check_glib(rsvg_handle_render_document(handle.get(), context.get(), &whole, &error), error);
  return encode_png(pixels_of(surface.get()));
}

#else

std::string svg_to_png(const std::string&, double) {
  fail("svg_to_png: this build has no librsvg; install Debian's librsvg2-dev, configure and build again");
}

#endif

}  // namespace fovea
