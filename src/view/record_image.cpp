#include "view/record_image.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/error.h"

namespace fovea {

namespace {

constexpr std::string_view kJpegUri = "data:image/jpeg;base64,";
constexpr size_t kMaxUri = 4'000'000;  // a JPEG of 512 x 512 pixels without any compression would be smaller
constexpr int64_t kMaxPictureSide = 1'000'000, kMaxGridSide = 512;

// The width and height in a JPEG's header (ITU T.81, annex B). Readers allocate by these numbers, so a record with
// false ones is refused before it is drawn. Returns nothing unless the bytes begin as a JPEG and have a frame header.
std::optional<std::pair<int64_t, int64_t>> jpeg_size(std::string_view bytes) {
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const auto word = [&](size_t at) { return byte(at) << 8 | byte(at + 1); };
  if (!bytes.starts_with("\xFF\xD8\xFF")) return {};
  for (size_t at = 2; at + 9 <= bytes.size();) {
    if (byte(at) != 0xFF) return {};
    const unsigned char marker = byte(at + 1);
    if (marker == 0xFF) {  // a fill byte before a marker
      ++at;
      continue;
    }
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame) return std::pair<int64_t, int64_t>(word(at + 7), word(at + 5));
    if (marker == 0xDA || marker == 0xD9) return {};  // a scan, or the end, without a frame header
    at += 2 + static_cast<size_t>(word(at + 2));
  }
  return {};
}

std::string jpeg_from_uri(const std::string& uri) {
  check(uri.size() <= kMaxUri, "image: expected data of at most {} bytes, got {}", kMaxUri, uri.size());
  check(uri.starts_with(kJpegUri), "image: expected data to begin with \"{}\", got \"{}\"", kJpegUri, brief(uri, 40));
  std::optional<std::string> bytes = from_base64(std::string_view(uri).substr(kJpegUri.size()));
  check(bytes.has_value(), "image: expected data in base64");
  const auto size = jpeg_size(*bytes);
  check(size.has_value(), "image: expected the data of a JPEG, got {} bytes of something else", bytes->size());
  const auto [width, height] = *size;
  check(std::min(width, height) >= 1 && std::max(width, height) <= RecordImage::kMaxSide,
        "image: expected a JPEG of 1 to {} pixels a side, got {} x {}", RecordImage::kMaxSide, width, height);
  return *std::move(bytes);
}

}  // namespace

std::string jpeg_data_uri(const RecordImage& image) { return std::string(kJpegUri) + to_base64(image.jpeg); }

Json image_json(const RecordImage& image) {
  return {{"name", image.name}, {"width", image.width},     {"height", image.height},
          {"rows", image.rows}, {"columns", image.columns}, {"data", jpeg_data_uri(image)}};
}

RecordImage image_from_json(const Json& json) {
  check(json.is_object(), "image: expected an object, got {}", brief_value(json));
  RecordImage image;
  image.name = json.at("name");
  image.width = whole_number(json, "width", 1, kMaxPictureSide);
  image.height = whole_number(json, "height", 1, kMaxPictureSide);
  image.rows = whole_number(json, "rows", 1, kMaxGridSide);
  image.columns = whole_number(json, "columns", 1, kMaxGridSide);
  image.jpeg = jpeg_from_uri(json.at("data").get_ref<const std::string&>());
  return image;
}

}  // namespace fovea
