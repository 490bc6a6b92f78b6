// Tables of sinusoidal positions.
#pragma once

#include <cstdint>
#include <vector>

namespace fovea {

// Vaswani et al. 2017, section 3.5: PE(pos, 2i) = sin(pos / 10000^{2i/d}), PE(pos, 2i+1) = cos(...); [count,depth].
std::vector<float> sinusoidal_positions(int64_t count, int64_t depth);
// The cells of a grid, row by row: the first half of a vector encodes the row and the second half the column, each as
// a position in a sentence; [rows*columns,depth].
std::vector<float> sinusoidal_grid(int64_t rows, int64_t columns, int64_t depth);

}  // namespace fovea
