#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "vision/exif.h"
#include "vision/formats.h"

namespace fovea {

namespace {

struct DeleteDemuxer {
  void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};
using Demuxer = std::unique_ptr<WebPDemuxer, DeleteDemuxer>;

Demuxer open_file(std::string_view bytes, const std::string& name) {
  const WebPData data{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSE_ERROR;
  Demuxer demuxer(WebPDemuxPartial(&data, &state));
  check(state == WEBP_DEMUX_DONE || state == WEBP_DEMUX_PARSE_ERROR, "{}: the WebP file is truncated", name);
  check(demuxer != nullptr && state == WEBP_DEMUX_DONE, "{}: cannot decode the WebP file: it is damaged", name);
  return demuxer;
}

int orientation(const WebPDemuxer* demuxer) {
  WebPChunkIterator chunk;
  int result = 1;
  if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk)) {
    result = exif_orientation({reinterpret_cast<const char*>(chunk.chunk.bytes), chunk.chunk.size});
  }
  WebPDemuxReleaseChunkIterator(&chunk);
  return result;
}

// One frame, decoded into memory that libwebp allocates.
class Frame {
 public:
  Frame(const WebPDemuxer* demuxer, const std::string& name) {
    check(WebPDemuxGetFrame(demuxer, 1, &place_) && place_.complete && WebPInitDecoderConfig(&config_),
          "{}: cannot decode the WebP file: it has no complete frame", name);
  }
  ~Frame() {
    WebPFreeDecBuffer(&config_.output);
    WebPDemuxReleaseIterator(&place_);
  }
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  void decode(const std::string& name) {
    const WebPData& data = place_.fragment;
    VP8StatusCode status = WebPGetFeatures(data.bytes, data.size, &config_.input);
    if (status == VP8_STATUS_OK) {
      check_image_size(config_.input.width, config_.input.height, name);
      config_.output.colorspace = config_.input.has_alpha ? MODE_RGBA : MODE_RGB;
      status = WebPDecode(data.bytes, data.size, &config_);
    }
    check(status != VP8_STATUS_NOT_ENOUGH_DATA && status != VP8_STATUS_SUSPENDED, "{}: the WebP file is truncated",
          name);
    check(status != VP8_STATUS_OUT_OF_MEMORY, "{}: libwebp has no memory", name);
    check(status == VP8_STATUS_OK, "{}: cannot decode the WebP file: it is damaged", name);
  }

  // Copies the frame to its place on the canvas.
  void draw(Image& canvas, const std::string& name) const {
    const WebPRGBABuffer& decoded = config_.output.u.RGBA;
    const int64_t width = config_.output.width, height = config_.output.height;
    check(place_.x_offset >= 0 && place_.y_offset >= 0 && place_.x_offset + width <= canvas.width &&
              place_.y_offset + height <= canvas.height,
          "{}: cannot decode the WebP file: its frame is larger than the picture", name);
    for (int64_t y = 0; y < height; ++y) {
      const uint8_t* in = decoded.rgba + y * decoded.stride;
      uint8_t* out = canvas.pixels.data() + 3 * ((place_.y_offset + y) * canvas.width + place_.x_offset);
      if (config_.output.colorspace == MODE_RGBA) {
        blend_with_white(in, width, out);
      } else {
        std::copy_n(in, 3 * width, out);
      }
    }
  }

 private:
  WebPIterator place_ = {};
  WebPDecoderConfig config_ = {};
};

ImageSize canvas_size(const WebPDemuxer* demuxer, const std::string& name) {
  const ImageSize size{WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH), WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT)};
  check_image_size(size.width, size.height, name);
  return size;
}

}  // namespace

ImageSize webp_size(std::string_view bytes, const std::string& name) {
  return canvas_size(open_file(bytes, name).get(), name);
}

DecodedImage decode_webp(std::string_view bytes, const std::string& name) {
  const Demuxer demuxer = open_file(bytes, name);
  DecodedImage decoded;
  Image& canvas = decoded.image;
  const ImageSize size = canvas_size(demuxer.get(), name);
  canvas.width = size.width;
  canvas.height = size.height;
  Frame frame(demuxer.get(), name);
  frame.decode(name);
  canvas.pixels.assign(static_cast<size_t>(3 * canvas.width * canvas.height), 255);
  frame.draw(canvas, name);
  decoded.orientation = orientation(demuxer.get());
  return decoded;
}

}  // namespace fovea
