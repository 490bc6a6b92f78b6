// Draws grids as SVG files: valid XML with text as text and no external references, light or dark as the reader
// prefers. Every function throws an Error when a grid has no rows or no columns.
#pragma once

#include <span>
#include <string>

#include "view/grid.h"
#include "view/picture_style.h"

namespace fovea {

// A cell for every weight, with the tokens along both sides.
std::string heatmap_svg(const Grid& grid, const PictureStyle& style);
// For each row the sentence of the columns, shaded by weight; then for each column the sentence of the rows.
std::string highlight_svg(const Grid& grid, const PictureStyle& style);
// Ribbons between the two sentences, as thick as weights, without the links that style.hide leaves out; the picture
// states their share. Below them how attention moves over the columns from each row to the next.
std::string flow_svg(const Grid& grid, const PictureStyle& style);
// Small heat maps, `columns` in a line; with the number of heads as `columns` each layer has its line.
std::string heads_svg(std::span<const Grid> grids, const PictureStyle& style, int columns);
// A frame for each row: the shaded sentence of the columns, the output so far, and the likeliest tokens of the step.
std::string steps_svg(const Grid& grid, const PictureStyle& style);

// Pictures. Each function throws an Error for a grid whose columns are not the cells of one.
//
// The picture for each row, lit by its weights: large, or small as a film strip after the picture as it is.
std::string overlay_svg(const Grid& grid, const PictureStyle& style);
std::string strip_svg(const Grid& grid, const PictureStyle& style);
// The picture for each head, lit by the mean of its rows.
std::string picture_heads_svg(std::span<const Grid> grids, const PictureStyle& style);

}  // namespace fovea
