#include "view/graphics_libraries.h"

#include <dlfcn.h>

#include <string>

#include "base/error.h"

namespace fovea {

namespace {

// The libraries stay loaded: they have threads and functions that run when the program ends.
class Library {
 public:
  explicit Library(const char* file) : file_(file), handle_(dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
    const char* why = handle_ == nullptr ? dlerror() : nullptr;
    check(handle_ != nullptr, "PNG and PDF need librsvg: {}; install Debian's librsvg2-2",
          why != nullptr ? why : "cannot load it");
  }
  template <class Function> void find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(handle_, name));
    check(function != nullptr, "{}: expected the function {}, which PNG and PDF need", file_, name);
  }

 private:
  std::string file_;
  void* handle_;
};

}  // namespace

GraphicsLibraries::GraphicsLibraries() {
#define FOVEA_FIND(name) library.find(#name, name);
  {
    const Library library("librsvg-2.so.2");
    FOVEA_RSVG_FUNCTIONS(FOVEA_FIND)
  }
  {
    const Library library("libglib-2.0.so.0");
    FOVEA_GLIB_FUNCTIONS(FOVEA_FIND)
  }
  {
    const Library library("libgobject-2.0.so.0");
    FOVEA_GOBJECT_FUNCTIONS(FOVEA_FIND)
  }
  {
    const Library library("libcairo.so.2");
    FOVEA_CAIRO_FUNCTIONS(FOVEA_FIND)
  }
  {
    const Library library("libfontconfig.so.1");
    FOVEA_FONTCONFIG_FUNCTIONS(FOVEA_FIND)
  }
#undef FOVEA_FIND
}

const GraphicsLibraries& graphics() {
  static const GraphicsLibraries loaded;
  return loaded;
}

}  // namespace fovea
