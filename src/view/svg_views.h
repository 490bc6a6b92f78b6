// Draws the five pictures for a medium: a file of its own, or part of an HTML page.
#pragma once

#include <span>
#include <string>

#include "view/svg_canvas.h"

namespace fovea {

std::string draw_heatmap(const Grid& grid, const PictureStyle& style, Medium medium);
std::string draw_highlight(const Grid& grid, const PictureStyle& style, Medium medium);
std::string draw_flow(const Grid& grid, const PictureStyle& style, Medium medium);
std::string draw_heads(std::span<const Grid> grids, const PictureStyle& style, int columns, Medium medium);
std::string draw_steps(const Grid& grid, const PictureStyle& style, Medium medium);

std::string common_title(
    std::span<const Grid> grids);  // the longest common beginning of the titles that ends at a comma

}  // namespace fovea
