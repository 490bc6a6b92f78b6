// Grids as one HTML file each: the SVG of svg.h, what answers to pointer and keys, and the numbers as tables. Nothing
// is fetched from elsewhere. Without scripts the whole picture is still there.
#pragma once

#include <span>
#include <string>

#include "view/grid.h"
#include "view/style.h"

namespace fovea {

std::string heatmap_html(const Grid& grid, const PictureStyle& style);    // the cell pointed at, or moved to by arrows
std::string highlight_html(const Grid& grid, const PictureStyle& style);  // the word pointed at shades the other side
std::string flow_html(const Grid& grid, const PictureStyle& style);       // the word pointed at shows only its links
std::string heads_html(std::span<const Grid> grids, const PictureStyle& style, int columns);
std::string steps_html(const Grid& grid, const PictureStyle& style);  // a player: play, pause, a slider, arrow keys

}  // namespace fovea
