#include "vision/exif.h"

#include <cstddef>
#include <cstdint>

namespace fovea {

namespace {

// Reads numbers of a TIFF block; 0 outside of it.
struct Tiff {
  std::string_view bytes;
  bool big_endian;

  uint32_t byte(size_t at) const { return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U; }
  uint32_t u16(size_t at) const { return big_endian ? byte(at) << 8 | byte(at + 1) : byte(at + 1) << 8 | byte(at); }
  uint32_t u32(size_t at) const { return big_endian ? u16(at) << 16 | u16(at + 2) : u16(at + 2) << 16 | u16(at); }
};

constexpr uint32_t kOrientationTag = 0x0112, kShort = 3;

}  // namespace

int exif_orientation(std::string_view block) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  if (block.starts_with(kPrefix)) block.remove_prefix(kPrefix.size());
  if (!block.starts_with("II") && !block.starts_with("MM")) return 1;
  const Tiff tiff{block, block[0] == 'M'};
  if (tiff.u16(2) != 42) return 1;
  const size_t directory = tiff.u32(4), entries = tiff.u16(directory);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (tiff.u16(entry) != kOrientationTag || tiff.u16(entry + 2) != kShort) continue;
    const uint32_t value = tiff.u16(entry + 8);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace fovea
