// libjpeg reports errors by a long jump. Therefore the functions that call setjmp have no variables with destructors;
// the functions that own memory call them and throw.
#include <cstddef>
#include <cstdio>
// jpeglib.h needs size_t and FILE.
#include <jpeglib.h>
// jerror.h needs the settings in jpeglib.h.
#include <jerror.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "vision/exif.h"
#include "vision/formats.h"

namespace fovea {

namespace {

constexpr int kExifMarker = JPEG_APP0 + 1;
// Encoders write about ten scans. Each scan of a progressive file takes time for the whole picture, however few bytes
// it has.
constexpr int kMaxScans = 64;

// How much larger than the size that the caller wants a picture is decoded. PIL's thumbnails use 2, too.
constexpr int64_t kMargin = 2;

struct JpegErrors {
  jpeg_error_mgr base;  // first, because libjpeg hands out its address
  std::jmp_buf jump;
  char message[JMSG_LENGTH_MAX];
};

[[noreturn]] void jump_out(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  errors->base.format_message(jpeg, errors->message);
  std::longjmp(errors->jump, 1);  // NOLINT(*-err52-cpp): libjpeg's only way
}

// Treats as errors the warnings after which parts of the picture would be grey or displaced.
void on_message(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC: jump_out(jpeg);
    default: break;
  }
}

void start_errors(JpegErrors& errors) {
  jpeg_std_error(&errors.base);
  errors.base.error_exit = jump_out;
  errors.base.emit_message = on_message;
}

// A decoder that reads from memory. It is a C structure; Decoder below owns it.
struct JpegReader {
  jpeg_decompress_struct jpeg;  // first, because libjpeg hands out its address
  JpegErrors errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  const JOCTET* bytes;
  size_t size;
  bool reads_pixels;  // the header has been read
  bool at_end;        // all bytes have been read
};

JpegReader& reader_of(j_decompress_ptr jpeg) { return *reinterpret_cast<JpegReader*>(jpeg); }

// Called after the last byte. Some programs omit the marker that ends the file, so it is supplied once. If pixels are
// missing as well, JWRN_HIT_MARKER follows. With several scans or arithmetic
// codes, nothing else tells that something is missing.
boolean on_end(j_decompress_ptr jpeg) {
  static constexpr JOCTET kEnd[] = {0xFF, JPEG_EOI};
  JpegReader& reader = reader_of(jpeg);
  if (reader.at_end || !reader.reads_pixels || jpeg->arith_code || jpeg_has_multiple_scans(jpeg)) {
    reader.at_end = true;
    ERREXIT(jpeg, JERR_INPUT_EOF);
  }
  reader.at_end = true;
  reader.source.next_input_byte = kEnd;
  reader.source.bytes_in_buffer = sizeof kEnd;
  return TRUE;
}

void on_skip(j_decompress_ptr jpeg, long count) {  // NOLINT(google-runtime-int): libjpeg's type
  JpegReader& reader = reader_of(jpeg);
  if (count <= 0) return;
  if (static_cast<size_t>(count) > reader.source.bytes_in_buffer) {
    reader.at_end = true;
    ERREXIT(jpeg, JERR_INPUT_EOF);
  }
  reader.source.next_input_byte += count;
  reader.source.bytes_in_buffer -= static_cast<size_t>(count);
}

void on_progress(j_common_ptr jpeg) {
  JpegReader& reader = reader_of(reinterpret_cast<j_decompress_ptr>(jpeg));
  if (reader.jpeg.input_scan_number <= kMaxScans) return;
  std::snprintf(reader.errors.message, sizeof reader.errors.message, "it has more than %d scans", kMaxScans);
  std::longjmp(reader.errors.jump, 1);  // NOLINT(*-err52-cpp)
}

// The functions below return false if libjpeg reported an error.

bool read_header(JpegReader& reader) {
  if (setjmp(reader.errors.jump)) return false;  // NOLINT(*-err52-cpp)
  jpeg_create_decompress(&reader.jpeg);
  reader.source.next_input_byte = reader.bytes;
  reader.source.bytes_in_buffer = reader.size;
  reader.source.init_source = [](j_decompress_ptr) {};
  reader.source.fill_input_buffer = on_end;
  reader.source.skip_input_data = on_skip;
  reader.source.resync_to_restart = jpeg_resync_to_restart;
  reader.source.term_source = [](j_decompress_ptr) {};
  reader.jpeg.src = &reader.source;
  reader.progress.progress_monitor = on_progress;
  reader.jpeg.progress = &reader.progress;
  jpeg_save_markers(&reader.jpeg, kExifMarker, 0xFFFF);
  jpeg_read_header(&reader.jpeg, TRUE);
  reader.reads_pixels = true;
  return true;
}

bool start(JpegReader& reader) {
  if (setjmp(reader.errors.jump)) return false;  // NOLINT(*-err52-cpp)
  jpeg_start_decompress(&reader.jpeg);
  return true;
}

// Adobe's programs store CMYK inverted, 255 for no ink, and others follow: each colour is scaled by the black value.
void cmyk_to_rgb(const uint8_t* cmyk, JDIMENSION pixels, uint8_t* rgb) {
  for (JDIMENSION i = 0; i < pixels; ++i) {
    for (int c = 0; c < 3; ++c) *rgb++ = static_cast<uint8_t>((cmyk[c] * cmyk[3] + 127) / 255);
    cmyk += 4;
  }
}

// Decodes all rows. `cmyk` is space for one row with four colours; nullptr for pictures with three.
bool read_rows(JpegReader& reader, uint8_t* rgb, uint8_t* cmyk) {
  if (setjmp(reader.errors.jump)) return false;  // NOLINT(*-err52-cpp)
  const JDIMENSION width = reader.jpeg.output_width;
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    uint8_t* out = rgb + size_t{3} * width * reader.jpeg.output_scanline;
    JSAMPROW row = cmyk != nullptr ? cmyk : out;
    jpeg_read_scanlines(&reader.jpeg, &row, 1);
    if (cmyk != nullptr) cmyk_to_rgb(cmyk, width, out);
  }
  return true;
}

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& name) : name_(name) {
    start_errors(reader_.errors);
    reader_.jpeg.err = &reader_.errors.base;
    reader_.bytes = reinterpret_cast<const JOCTET*>(bytes.data());
    reader_.size = bytes.size();
  }
  ~Decoder() { jpeg_destroy_decompress(&reader_.jpeg); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  ImageSize size() {
    require(read_header(reader_));
    check_header();
    return {reader_.jpeg.image_width, reader_.jpeg.image_height};
  }

  DecodedImage decode(int64_t for_size) {
    size();
    DecodedImage decoded;
    decoded.orientation = orientation();
    choose_output(for_size);
    require(start(reader_));
    decoded.image.width = reader_.jpeg.output_width;
    decoded.image.height = reader_.jpeg.output_height;
    decoded.image.pixels.resize(static_cast<size_t>(3 * decoded.image.width * decoded.image.height));
    std::vector<uint8_t> cmyk;
    if (reader_.jpeg.out_color_space == JCS_CMYK) cmyk.resize(size_t{4} * reader_.jpeg.output_width);
    require(read_rows(reader_, decoded.image.pixels.data(), cmyk.empty() ? nullptr : cmyk.data()));
    return decoded;
  }

 private:
  void require(bool ok) const {
    if (ok) return;
    check(!reader_.at_end, "{}: the JPEG file is truncated", name_);
    fail("{}: cannot decode the JPEG file: {}", name_, reader_.errors.message);
  }

  void check_header() const {
    const jpeg_decompress_struct& jpeg = reader_.jpeg;
    check_image_size(jpeg.image_width, jpeg.image_height, name_);
    check(jpeg.num_components == 1 || jpeg.num_components == 3 || jpeg.num_components == 4,
          "{}: expected a JPEG file with 1, 3 or 4 colours, got {}", name_, jpeg.num_components);
    // A Huffman code has at least one bit, so a header that promises more blocks than the file has bits is refused
    // before memory is allocated for them.
    size_t blocks = 0;
    for (int i = 0; i < jpeg.num_components; ++i) {
      blocks += size_t{jpeg.comp_info[i].width_in_blocks} * jpeg.comp_info[i].height_in_blocks;
    }
    check(jpeg.arith_code || blocks <= 8 * reader_.size, "{}: the JPEG file is truncated: {} bytes for {} x {} pixels",
          name_, reader_.size, jpeg.image_width, jpeg.image_height);
  }

  int orientation() const {
    for (const jpeg_marker_struct* marker = reader_.jpeg.marker_list; marker != nullptr; marker = marker->next) {
      const std::string_view data(reinterpret_cast<const char*>(marker->data), marker->data_length);
      if (marker->marker == kExifMarker && data.starts_with("Exif")) return exif_orientation(data);
    }
    return 1;
  }

  void choose_output(int64_t for_size) {
    jpeg_decompress_struct& jpeg = reader_.jpeg;
    jpeg.out_color_space = jpeg.num_components == 4 ? JCS_CMYK : JCS_RGB;
    const int64_t shorter = std::min(jpeg.image_width, jpeg.image_height);
    jpeg.scale_denom = 8;
    jpeg.scale_num = 1;
    while (jpeg.scale_num < 8 && (for_size <= 0 || shorter * jpeg.scale_num / (8 * kMargin) < for_size)) {
      jpeg.scale_num *= 2;
    }
  }

  const std::string& name_;
  JpegReader reader_ = {};
};

struct JpegWriter {
  jpeg_compress_struct jpeg;
  JpegErrors errors;
  unsigned char* bytes;  // allocated by libjpeg
  unsigned long size;    // NOLINT(google-runtime-int): libjpeg's type
};

bool write(JpegWriter& writer, const uint8_t* pixels, JDIMENSION width, JDIMENSION height, int quality) {
  if (setjmp(writer.errors.jump)) return false;  // NOLINT(*-err52-cpp)
  jpeg_create_compress(&writer.jpeg);
  jpeg_mem_dest(&writer.jpeg, &writer.bytes, &writer.size);
  writer.jpeg.image_width = width;
  writer.jpeg.image_height = height;
  writer.jpeg.input_components = 3;
  writer.jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&writer.jpeg);
  jpeg_set_quality(&writer.jpeg, quality, TRUE);
  writer.jpeg.optimize_coding = TRUE;
  jpeg_start_compress(&writer.jpeg, TRUE);
  while (writer.jpeg.next_scanline < height) {
    JSAMPROW row = const_cast<JSAMPROW>(pixels + size_t{3} * width * writer.jpeg.next_scanline);
    jpeg_write_scanlines(&writer.jpeg, &row, 1);
  }
  jpeg_finish_compress(&writer.jpeg);
  return true;
}

}  // namespace

DecodedImage decode_jpeg(std::string_view bytes, const std::string& name, int64_t for_size) {
  return Decoder(bytes, name).decode(for_size);
}

ImageSize jpeg_size(std::string_view bytes, const std::string& name) { return Decoder(bytes, name).size(); }

std::string encode_jpeg(const Image& image, int quality) {
  check_image(image, "encode_jpeg");
  check(image.width <= JPEG_MAX_DIMENSION && image.height <= JPEG_MAX_DIMENSION,
        "encode_jpeg: expected at most {} pixels a side, got {} x {}", JPEG_MAX_DIMENSION, image.width, image.height);
  check(quality >= 1 && quality <= 100, "encode_jpeg: expected a quality from 1 to 100, got {}", quality);
  JpegWriter writer = {};
  start_errors(writer.errors);
  writer.jpeg.err = &writer.errors.base;
  const bool ok = write(writer, image.pixels.data(), static_cast<JDIMENSION>(image.width),
                        static_cast<JDIMENSION>(image.height), quality);
  std::string file(reinterpret_cast<const char*>(writer.bytes), ok ? writer.size : 0);
  jpeg_destroy_compress(&writer.jpeg);
  std::free(writer.bytes);  // NOLINT(*-no-malloc)
  check(ok, "encode_jpeg: {}", writer.errors.message);
  return file;
}

}  // namespace fovea
