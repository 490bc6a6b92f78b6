// librsvg, cairo, GLib and fontconfig, which with all that they need are forty libraries: they are loaded when the
// first picture is drawn, so that every other command starts without them. A function is called by its own name:
//
//   graphics().cairo_paint(context);
#pragma once

#include <cairo-pdf.h>
#include <cairo.h>
#include <fontconfig/fontconfig.h>
#include <librsvg/rsvg.h>

namespace fovea {

#define FOVEA_RSVG_FUNCTIONS(X)               \
  X(rsvg_handle_get_intrinsic_size_in_pixels) \
  X(rsvg_handle_new_from_data)                \
  X(rsvg_handle_render_document)
#define FOVEA_GLIB_FUNCTIONS(X) X(g_clear_error)
#define FOVEA_GOBJECT_FUNCTIONS(X) X(g_object_unref)
#define FOVEA_CAIRO_FUNCTIONS(X)         \
  X(cairo_create)                        \
  X(cairo_destroy)                       \
  X(cairo_image_surface_create)          \
  X(cairo_image_surface_get_data)        \
  X(cairo_image_surface_get_height)      \
  X(cairo_image_surface_get_stride)      \
  X(cairo_image_surface_get_width)       \
  X(cairo_paint)                         \
  X(cairo_pdf_surface_create_for_stream) \
  X(cairo_set_source_rgb)                \
  X(cairo_status)                        \
  X(cairo_status_to_string)              \
  X(cairo_surface_destroy)               \
  X(cairo_surface_finish)                \
  X(cairo_surface_flush)                 \
  X(cairo_surface_status)
#define FOVEA_FONTCONFIG_FUNCTIONS(X) \
  X(FcCharSetCreate)                  \
  X(FcCharSetDestroy)                 \
  X(FcCharSetHasChar)                 \
  X(FcCharSetMerge)                   \
  X(FcFontList)                       \
  X(FcFontSetDestroy)                 \
  X(FcObjectSetBuild)                 \
  X(FcObjectSetDestroy)               \
  X(FcPatternCreate)                  \
  X(FcPatternDestroy)                 \
  X(FcPatternGetCharSet)

struct GraphicsLibraries {
  GraphicsLibraries();  // loads them; an Error that names the missing library if one cannot be loaded

#define FOVEA_POINTER(name) decltype(&::name) name = nullptr;
  FOVEA_RSVG_FUNCTIONS(FOVEA_POINTER)
  FOVEA_GLIB_FUNCTIONS(FOVEA_POINTER)
  FOVEA_GOBJECT_FUNCTIONS(FOVEA_POINTER)
  FOVEA_CAIRO_FUNCTIONS(FOVEA_POINTER)
  FOVEA_FONTCONFIG_FUNCTIONS(FOVEA_POINTER)
#undef FOVEA_POINTER
};

const GraphicsLibraries& graphics();

}  // namespace fovea
