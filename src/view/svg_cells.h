// Draws the cells of a grid: up to kMaxRectangles as rectangles, more as one image.
#pragma once

#include "view/grid.h"
#include "view/svg_canvas.h"

namespace fovea {

constexpr int64_t kMaxRectangles = 4096;

struct CellBox {
  double x, y, width, height;  // of the first cell; the others follow right and below
};

// Draws a rectangle with a tooltip for each cell, and its weight inside where it fits.
void draw_cells(Canvas& canvas, const Grid& grid, const CellBox& box);
// Draws one image, or one for light and one for dark paper where the reader chooses.
void draw_cells_as_image(Canvas& canvas, const Grid& grid, const CellBox& box);
void draw_cell_lines(Canvas& canvas, const Grid& grid, const CellBox& box);  // draws hairlines between the cells
void mark_chosen(Canvas& canvas, const Grid& grid,
                 const CellBox& box);  // outlines the cell that hard selection chose in each row

}  // namespace fovea
