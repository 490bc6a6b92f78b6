// Attention over time: a column of the picture for each row of the grid, and between two of them how attention moves
// over the grid's columns, by optimal transport.
#pragma once

#include "view/grid.h"
#include "view/svg_canvas.h"

namespace fovea {

void draw_film(Canvas& canvas, double y, const Grid& grid);

}  // namespace fovea
