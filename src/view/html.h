// Draws grids as HTML files, one each: the picture of svg.h, a script that answers to pointer and keys, and the numbers
// as tables. A file refers to nothing outside itself, and shows the whole picture without its script, too.
#pragma once

#include <span>
#include <string>

#include "view/grid.h"
#include "view/picture_style.h"

namespace fovea {

std::string heatmap_html(const Grid& grid,
                         const PictureStyle& style);  // marks the cell under the pointer or the arrow keys' cursor
std::string highlight_html(const Grid& grid,
                           const PictureStyle& style);               // shades the other sentence by the word pointed at
std::string flow_html(const Grid& grid, const PictureStyle& style);  // shows only the links of the word pointed at
std::string heads_html(std::span<const Grid> grids, const PictureStyle& style, int columns);
std::string steps_html(const Grid& grid,
                       const PictureStyle& style);  // a player with play, pause, a slider and arrow keys

// Pictures, as in svg.h: a word that is pointed at lights up a large picture, and a player steps through the words.
std::string overlay_html(const Grid& grid, const PictureStyle& style);
std::string strip_html(const Grid& grid, const PictureStyle& style);
std::string picture_heads_html(std::span<const Grid> grids, const PictureStyle& style);

}  // namespace fovea
