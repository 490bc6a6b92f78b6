#include "fovea/serve/gzip.h"

#include <zlib.h>

#include "base/error.h"

namespace fovea::app {

namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib's way to say gzip

template <class Step> std::string through(std::string_view bytes, z_stream& stream, Step&& step) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  for (int status = Z_OK; status != Z_STREAM_END;) {
    char buffer[1 << 15];
    stream.next_out = reinterpret_cast<Bytef*>(buffer);
    stream.avail_out = sizeof buffer;
    status = step(stream);
    check(status == Z_OK || status == Z_STREAM_END, "gzip: error {}", status);
    out.append(buffer, sizeof buffer - stream.avail_out);
  }
  return out;
}

}  // namespace

std::string gzip(std::string_view text) {
  z_stream stream{};
  check(deflateInit2(&stream, 1, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK, "gzip: cannot begin");
  std::string out = through(text, stream, [](z_stream& s) { return deflate(&s, Z_FINISH); });
  deflateEnd(&stream);
  return out;
}

std::string ungzip(std::string_view bytes) {
  z_stream stream{};
  check(inflateInit2(&stream, kGzipWindow) == Z_OK, "gzip: cannot begin");
  std::string out = through(bytes, stream, [](z_stream& s) { return inflate(&s, Z_NO_FLUSH); });
  inflateEnd(&stream);
  return out;
}

}  // namespace fovea::app
