// The five pictures for a medium: a file of their own, or part of a page.
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

std::string common_title(std::span<const Grid> grids);  // what the titles have in common, up to a comma

}  // namespace fovea
