#include "fovea/serve/gzip.h"

#include <zlib.h>

#include "base/error.h"

namespace fovea::app {

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to say gzip

}  // namespace

struct GzipWriter::Stream {
  Stream() {
    check(deflateInit2(&stream, 1, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK, "gzip: cannot begin");
  }
  ~Stream() { deflateEnd(&stream); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  z_stream stream{};
};

GzipWriter::GzipWriter() : stream_(std::make_shared<Stream>()) {}

std::string GzipWriter::add(std::string_view part, bool last) {
  z_stream& stream = stream_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(part.data()));
  stream.avail_in = static_cast<uInt>(part.size());
  std::string out;
  do {
    char buffer[1 << 15];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
  } while (stream.avail_out == 0);
  return out;
}

std::string gzip(std::string_view text) { return GzipWriter().add(text, true); }

std::string ungzip(std::string_view bytes) {
  z_stream stream{};
  check(inflateInit2(&stream, kGzipWindow) == Z_OK, "gzip: cannot begin");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK) {
    char buffer[1 << 15];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(buffer, sizeof buffer - stream.avail_out);
  }
  inflateEnd(&stream);
  check(status == Z_STREAM_END, "gzip: error {}", status);
  return out;
}

}  // namespace fovea::app
