// Grids as SVG: valid XML, text as text, nothing fetched from elsewhere, light or dark as the reader's screen is.
// Every function throws an Error when a grid has no rows or no columns.
#pragma once

#include <span>
#include <string>

#include "view/grid.h"
#include "view/style.h"

namespace fovea {

// A cell for every weight, with the tokens along both sides.
std::string heatmap_svg(const Grid& grid, const PictureStyle& style);
// The columns' sentence shaded for each row, and the rows' sentence for each column.
std::string highlight_svg(const Grid& grid, const PictureStyle& style);
// Ribbons between the two sentences, as thick as weights, less what style.hide leaves out, which is stated.
// Below it how attention moves over the columns from each row to the next.
std::string flow_svg(const Grid& grid, const PictureStyle& style);
// Small heat maps, `columns` to a line: a layer a line when that is the number of heads.
std::string heads_svg(std::span<const Grid> grids, const PictureStyle& style, int columns);
// A frame for each row: the columns' sentence shaded, the output so far, the probability of the token and of others.
std::string steps_svg(const Grid& grid, const PictureStyle& style);

}  // namespace fovea
