// libpng reports errors by a long jump. Therefore the functions that call setjmp have no variables with destructors;
// the functions that own memory call them and throw.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "vision/exif.h"
#include "vision/formats.h"

namespace fovea {

namespace {

constexpr png_alloc_size_t kMaxChunkBytes = 1'000'000;  // of chunks other than pixels
constexpr size_t kMaxDeflateRatio = 1032;               // the most bytes that one byte of deflated data can become

struct PngReader {
  png_structp png;
  png_infop info;
  const char* unread;
  size_t unread_size;
  bool truncated;
  char message[128];
};

void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::snprintf(reader->message, sizeof reader->message, "%s", message);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, size_t size) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (size > reader->unread_size) {
    reader->truncated = true;
    png_error(png, "the end of the file");
  }
  std::memcpy(out, reader->unread, size);
  reader->unread += size;
  reader->unread_size -= size;
}

// The functions below return false if libpng reported an error.

bool read_header(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;  // NOLINT(*-err52-cpp): libpng's only way
  png_set_read_fn(reader.png, &reader, read_bytes);
  png_set_user_limits(reader.png, kMaxImageSide, kMaxImageSide);
  png_set_chunk_malloc_max(reader.png, kMaxChunkBytes);
  png_set_chunk_cache_max(reader.png, 16);
  // Skips comments, colour profiles and the like, but for the orientation.
  static constexpr png_byte kExif[] = "eXIf";
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_set_keep_unknown_chunks(reader.png, PNG_HANDLE_CHUNK_AS_DEFAULT, kExif, 1);
  png_read_info(reader.png, reader.info);
  return true;
}

// Has libpng convert to 8 bits of red, green and blue, with alpha if there is transparency.
bool set_conversions(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;  // NOLINT(*-err52-cpp)
  png_set_expand(reader.png);
  png_set_scale_16(reader.png);
  png_set_gray_to_rgb(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  return true;
}

bool read_rows(PngReader& reader, uint8_t* pixels) {
  if (setjmp(png_jmpbuf(reader.png))) return false;  // NOLINT(*-err52-cpp)
  const size_t row = png_get_rowbytes(reader.png, reader.info);
  const png_uint_32 height = png_get_image_height(reader.png, reader.info);
  const int passes = png_get_interlace_type(reader.png, reader.info) == PNG_INTERLACE_ADAM7 ? 7 : 1;
  for (int pass = 0; pass < passes; ++pass) {
    for (png_uint_32 y = 0; y < height; ++y) png_read_row(reader.png, pixels + y * row, nullptr);
  }
  png_read_end(reader.png, reader.info);
  return true;
}

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& name) : name_(name), size_(bytes.size()) {
    reader_.unread = bytes.data();
    reader_.unread_size = bytes.size();
    reader_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader_, on_error, on_warning);
    if (reader_.png != nullptr) reader_.info = png_create_info_struct(reader_.png);
  }
  ~Decoder() { png_destroy_read_struct(&reader_.png, &reader_.info, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  DecodedImage decode() {
    check(reader_.info != nullptr, "{}: libpng has no memory", name_);
    require(read_header(reader_));
    DecodedImage decoded;
    Image& image = decoded.image;
    image.width = png_get_image_width(reader_.png, reader_.info);
    image.height = png_get_image_height(reader_.png, reader_.info);
    check_image_size(image.width, image.height, name_);
    const size_t stored = png_get_rowbytes(reader_.png, reader_.info) * static_cast<size_t>(image.height);
    check(stored <= kMaxDeflateRatio * size_, "{}: the PNG file is truncated: {} bytes for {} x {} pixels", name_,
          size_, image.width, image.height);
    require(set_conversions(reader_));
    const int64_t channels = png_get_channels(reader_.png, reader_.info);
    check((channels == 3 || channels == 4) &&
              png_get_rowbytes(reader_.png, reader_.info) == static_cast<size_t>(image.width * channels),
          "{}: libpng cannot convert the picture to RGB", name_);
    image.pixels.resize(static_cast<size_t>(image.width * image.height * channels));
    require(read_rows(reader_, image.pixels.data()));
    if (channels == 4) {
      blend_with_white(image.pixels.data(), image.width * image.height, image.pixels.data());
      image.pixels.resize(static_cast<size_t>(image.width * image.height * 3));
    }
    decoded.orientation = orientation();
    return decoded;
  }

 private:
  void require(bool ok) const {
    if (ok) return;
    check(!reader_.truncated, "{}: the PNG file is truncated", name_);
    fail("{}: cannot decode the PNG file: {}", name_, reader_.message);
  }

  int orientation() const {
    png_uint_32 size = 0;
    png_bytep exif = nullptr;
    if (png_get_eXIf_1(reader_.png, reader_.info, &size, &exif) == 0) return 1;
    return exif_orientation({reinterpret_cast<const char*>(exif), size});
  }

  const std::string& name_;
  size_t size_;
  PngReader reader_ = {};
};

}  // namespace

// The header is the first chunk; libpng's own error does not say what was too large.
ImageSize png_size(std::string_view bytes, const std::string& name) {
  const auto number = [&](size_t at) {
    int64_t value = 0;
    for (size_t i = at; i < at + 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
    return value;
  };
  check(bytes.size() >= 24, "{}: the PNG file is truncated", name);
  check(bytes.substr(12, 4) == "IHDR", "{}: cannot decode the PNG file: it does not begin with a header", name);
  const ImageSize size{number(16), number(20)};
  check_image_size(size.width, size.height, name);
  return size;
}

DecodedImage decode_png(std::string_view bytes, const std::string& name) {
  png_size(bytes, name);
  return Decoder(bytes, name).decode();
}

}  // namespace fovea
