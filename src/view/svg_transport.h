// Draws attention over time: steps (rows of the grid) from left to right, columns of the grid from top to bottom, and
// between two steps the optimal transport of one row's attention to the next.
#pragma once

#include "view/grid.h"
#include "view/svg_canvas.h"

namespace fovea {

void draw_transport(Canvas& canvas, double y, const Grid& grid);

}  // namespace fovea
