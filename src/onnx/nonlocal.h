// The non-local block as nodes, as models/nonlocal.h.
#pragma once

#include <string>

#include "onnx/ops.h"

namespace fovea::onnx {

// A square feature map.
struct Map {
  Value x;  // [B,C,pixels,pixels]
  int64_t pixels = 0;
};

// What a block attended to, [B,1,1,N,M]: a row for each position, row by row of the map, and a column for each position
// that is attended over.
struct NonLocalWeights {
  Value weights;
  int64_t rows = 0, columns = 0;
};

Map nonlocal(const std::string& name, const std::string& form, const Map& map, NonLocalWeights& weights);

}  // namespace fovea::onnx
