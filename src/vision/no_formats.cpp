// A build without the libraries that read and write pictures.
#include "base/error.h"
#include "vision/formats.h"
#include "vision/png.h"

namespace fovea {

namespace {
[[noreturn]] void absent(const std::string& name) {
  fail("{}: this build of Fovea reads and writes no pictures", name);
}
}  // namespace

DecodedImage decode_jpeg(std::string_view, const std::string& name, int64_t) { absent(name); }
DecodedImage decode_png(std::string_view, const std::string& name) { absent(name); }
DecodedImage decode_webp(std::string_view, const std::string& name) { absent(name); }
ImageSize jpeg_size(std::string_view, const std::string& name) { absent(name); }
ImageSize png_size(std::string_view, const std::string& name) { absent(name); }
ImageSize webp_size(std::string_view, const std::string& name) { absent(name); }
std::string encode_jpeg(const Image&, int) { absent("encode_jpeg"); }
std::string encode_png(const Image&) { absent("encode_png"); }

}  // namespace fovea
