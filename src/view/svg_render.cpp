#include "view/svg_render.h"

#include "base/error.h"
#include "vision/png.h"

#ifdef FOVEA_RSVG
#include <algorithm>
#include <cmath>
#include <memory>

#include "view/graphics_libraries.h"
#endif

namespace fovea {

#ifdef FOVEA_RSVG

namespace {

struct Release {
  void operator()(RsvgHandle* handle) const { graphics().g_object_unref(handle); }
  void operator()(cairo_surface_t* surface) const { graphics().cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { graphics().cairo_destroy(context); }
};
template <class T> using Owned = std::unique_ptr<T, Release>;

void check_glib(bool ok, GError* error) {
  if (ok) return;
  const std::string why = error != nullptr ? error->message : "for no reason it gave";
  graphics().g_clear_error(&error);
  fail("SVG: librsvg failed: {}", why);
}
void check_cairo(cairo_status_t status) {
  check(status == CAIRO_STATUS_SUCCESS, "SVG: cairo failed: {}", graphics().cairo_status_to_string(status));
}

struct Svg {
  Owned<RsvgHandle> handle;
  double width = 0, height = 0;

  explicit Svg(const std::string& text) {
    GError* error = nullptr;
    handle.reset(
        graphics().rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(text.data()), text.size(), &error));
    check_glib(handle != nullptr, error);
    check(graphics().rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) && width > 0 && height > 0,
          "SVG: expected a width and a height");
  }

  void render(cairo_t* context, double to_width, double to_height) const {
    check_cairo(graphics().cairo_status(context));
    const RsvgRectangle whole{0, 0, to_width, to_height};
    GError* error = nullptr;
    check_glib(graphics().rsvg_handle_render_document(handle.get(), context, &whole, &error), error);
  }
};

double fitting(double scale, double width, double height) {
  constexpr double kMaxSide = 16384, kMaxPixels = 64e6;
  return std::min({scale, kMaxSide / width, kMaxSide / height, std::sqrt(kMaxPixels / (width * height))});
}

Pixels pixels_of(cairo_surface_t* surface) {
  graphics().cairo_surface_flush(surface);
  Pixels pixels{
      graphics().cairo_image_surface_get_width(surface), graphics().cairo_image_surface_get_height(surface), 3, {}};
  pixels.bytes.resize(static_cast<size_t>(pixels.width * pixels.height * 3));
  uint8_t* to = pixels.bytes.data();
  for (int64_t y = 0; y < pixels.height; ++y) {
    const unsigned char* line =
        graphics().cairo_image_surface_get_data(surface) + y * graphics().cairo_image_surface_get_stride(surface);
    const auto* from = reinterpret_cast<const uint32_t*>(line);  // 0x00RRGGBB, cairo aligns it
    for (int64_t x = 0; x < pixels.width; ++x, to += 3) {
      to[0] = static_cast<uint8_t>(from[x] >> 16);
      to[1] = static_cast<uint8_t>(from[x] >> 8);
      to[2] = static_cast<uint8_t>(from[x]);
    }
  }
  return pixels;
}

cairo_status_t append(void* file, const unsigned char* bytes, unsigned int size) {
  static_cast<std::string*>(file)->append(reinterpret_cast<const char*>(bytes), size);
  return CAIRO_STATUS_SUCCESS;
}

}  // namespace

std::string svg_to_png(const std::string& text, double scale) {
  check(scale > 0, "svg_to_png: expected a scale above 0, got {}", scale);
  const Svg svg(text);
  const double by = fitting(scale, svg.width, svg.height);
  const double width = std::max(1.0, std::round(svg.width * by)), height = std::max(1.0, std::round(svg.height * by));
  const Owned<cairo_surface_t> surface(
      graphics().cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width), static_cast<int>(height)));
  const Owned<cairo_t> context(graphics().cairo_create(surface.get()));
  graphics().cairo_set_source_rgb(context.get(), 1, 1, 1);
  graphics().cairo_paint(context.get());
  svg.render(context.get(), width, height);
  return encode_png(pixels_of(surface.get()));
}

std::string svg_to_pdf(const std::string& text) {
  constexpr double kPoints = 72.0 / 96.0;  // of a unit
  const Svg svg(text);
  const double width = svg.width * kPoints, height = svg.height * kPoints;
  std::string file;
  const Owned<cairo_surface_t> surface(graphics().cairo_pdf_surface_create_for_stream(append, &file, width, height));
  {
    const Owned<cairo_t> context(graphics().cairo_create(surface.get()));
    svg.render(context.get(), width, height);
  }
  graphics().cairo_surface_finish(surface.get());
  check_cairo(graphics().cairo_surface_status(surface.get()));
  return file;
}

#else

std::string svg_to_png(const std::string&, double) {
  fail("PNG: this build has no librsvg; install Debian's librsvg2-dev, configure and build again");
}
std::string svg_to_pdf(const std::string&) {
  fail("PDF: this build has no librsvg; install Debian's librsvg2-dev, configure and build again");
}

#endif

}  // namespace fovea
