// Pictures in memory.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea {

struct Image {  // RGB, 8 bits, rows from the top
  int64_t width = 0, height = 0;
  std::vector<uint8_t> pixels;  // [height, width, 3]
};

}  // namespace fovea
