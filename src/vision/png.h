// Encodes pixels as PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fovea {

struct Pixels {
  int64_t width = 0, height = 0;
  int64_t channels = 3;        // red, green, blue; a fourth is alpha
  std::vector<uint8_t> bytes;  // [height, width, channels]
};

std::string encode_png(const Pixels& pixels);  // the bytes of a PNG file

}  // namespace fovea
