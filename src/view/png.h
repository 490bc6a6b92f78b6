// Pictures made of pixels.
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

// An SVG drawn by librsvg, `scale` pixels for each of its units; fewer where there would be more than 16,384 a side or
// 64 million in all. An Error where Fovea was built without librsvg.
std::string svg_to_png(const std::string& svg, double scale = 2);

}  // namespace fovea
