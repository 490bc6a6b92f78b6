// The cells of a grid: rectangles while they are few, one image when they are many.
#pragma once

#include "view/grid.h"
#include "view/svg_canvas.h"

namespace fovea {

constexpr int64_t kMostRectangles = 4096;

struct CellBox {
  double x, y, width, height;  // of the first cell
};

// Rectangles with a tooltip each, and their weight in them where it fits.
void draw_cells(Canvas& canvas, const Grid& grid, const CellBox& box);
// For light and for dark paper where the reader chooses.
void draw_cells_as_image(Canvas& canvas, const Grid& grid, const CellBox& box);
void draw_cell_lines(Canvas& canvas, const Grid& grid, const CellBox& box);  // hairlines between the cells
void mark_chosen(Canvas& canvas, const Grid& grid, const CellBox& box);      // outlines the one cell of each row

}  // namespace fovea
