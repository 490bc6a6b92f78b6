#include "view/compact_weights.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/base64.h"
#include "base/error.h"

namespace fovea {

namespace {

constexpr float kScaleSteps = 65535, kSteps = 254;
constexpr unsigned char kAbsent = 255;
constexpr size_t kScaleBytes = 2;
constexpr double kMaxWeights = 1e9;

std::string deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  const int status = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), Z_DEFAULT_COMPRESSION);
  check(status == Z_OK, "compact weights: zlib returned error {}", status);
  out.resize(size);
  return out;
}

// Decompresses exactly `size` bytes or throws an Error. The output grows as it is filled, so a false size allocates
// nothing.
std::string inflated(std::string_view bytes, size_t size) {
  z_stream stream{};
  check(inflateInit(&stream) == Z_OK, "cannot start zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int status = Z_OK;
  while (status == Z_OK && out.size() <= size) {
    char block[1 << 15];
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    status = inflate(&stream, Z_NO_FLUSH);
    out.append(block, sizeof block - stream.avail_out);
  }
  inflateEnd(&stream);
  check(status == Z_STREAM_END && out.size() == size, "expected {} bytes of packed weights, got {}", size,
        status == Z_STREAM_END ? std::to_string(out.size())
        : out.size() > size    ? "more"
                               : "damaged data");
  return out;
}

}  // namespace

std::string quantised_row(std::span<const float> weights) {
  float largest = 0;
  for (const float w : weights) largest = std::max(largest, w);  // NaN compares false
  const auto scale = static_cast<uint32_t>(std::lround(std::min(largest, 1.0f) * kScaleSteps));
  std::string bytes;
  bytes += static_cast<char>(scale & 255u);
  bytes += static_cast<char>(scale >> 8);
  const float step = static_cast<float>(scale) / kScaleSteps / kSteps;
  for (const float w : weights) {
    unsigned char q = kAbsent;
    if (!std::isnan(w)) q = step > 0 ? static_cast<unsigned char>(std::clamp(std::round(w / step), 0.0f, kSteps)) : 0;
    bytes += static_cast<char>(q);
  }
  return bytes;
}

std::string pack_weights(const RecordedAttention& a, int64_t first_row) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(a.layers * a.heads * (a.rows - first_row)) *
                (kScaleBytes + static_cast<size_t>(a.columns)));
  for (int64_t layer = 0; layer < a.layers; ++layer) {
    for (int64_t head = 0; head < a.heads; ++head) {
      for (int64_t t = first_row; t < a.rows; ++t) {
        bytes += quantised_row({a.row(layer, head, t), static_cast<size_t>(a.columns)});
      }
    }
  }
  return to_base64(deflated(bytes));
}

void unpack_weights(std::string_view packed, RecordedAttention& a) {
  const std::optional<std::string> bytes = from_base64(packed);
  check(bytes.has_value(), "expected packed weights in base64");
  const double size = static_cast<double>(a.layers) * static_cast<double>(a.heads) * static_cast<double>(a.rows) *
                      static_cast<double>(a.columns);
  check(size <= kMaxWeights, "expected at most {} packed weights, got {}", kMaxWeights, size);
  const auto columns = static_cast<size_t>(a.columns);
  const size_t rows = static_cast<size_t>(a.layers) * static_cast<size_t>(a.heads) * static_cast<size_t>(a.rows);
  const std::string cells = inflated(*bytes, rows * (kScaleBytes + columns));
  a.weights.clear();
  a.weights.reserve(rows * columns);
  const auto* at = reinterpret_cast<const unsigned char*>(cells.data());
  for (size_t row = 0; row < rows; ++row) {
    const float scale = static_cast<float>(at[0] | at[1] << 8) / kScaleSteps;
    at += kScaleBytes;
    for (size_t c = 0; c < columns; ++c, ++at) {
      a.weights.push_back(*at == kAbsent ? std::numeric_limits<float>::quiet_NaN()
                                         : scale * static_cast<float>(*at) / kSteps);
    }
  }
}

}  // namespace fovea
