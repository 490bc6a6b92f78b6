// Attention over the cells of a picture as light on it: dark where there is none, bright where a word looked. The
// views of pictures (svg.h, html.h, terminal.h) draw a frame for each word.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "view/colour_scale.h"
#include "view/grid.h"

namespace fovea {

struct PictureFrame {
  Label label;
  std::vector<float> cells;        // [rows, columns] of the grid over the picture; an absent cell is 0
  std::optional<double> no_place;  // the weight of the sentinel
  std::optional<double> probability;
  std::optional<int64_t> from;  // self-attention: the cell that looks, which is outlined
};

// A frame for each row but special tokens, unless there are only these. Of self-attention, whose rows are cells, a
// frame for Grid::cell or, without it, for some of the cells that look far; an overlay has the one that looks most.
// Throws an Error for a grid without a picture.
std::vector<PictureFrame> frames_of(const Grid& grid, std::string_view view);
// A frame for each grid: the mean of its rows, with what its title has of its own as label.
std::vector<PictureFrame> frames_of_heads(std::span<const Grid> grids);
std::string heads_title(std::span<const Grid> grids);  // "cross attention, layer 1, mean of all words"
// States how much weight is how bright: "brightest: the largest weight of each word".
bool has_cells_as_rows(const Grid& grid);
std::string_view each_row(const Grid& grid);  // what brightness_text calls them: "word", "row" or "cell"
std::string brightness_text(const PictureStyle& style, std::string_view of_each);

// The width of a drawn picture. Pictures of any shape have about the area of a square with this side, as long as none
// of their sides is more than twice as long.
double frame_width(const RecordImage& image, double side);

// The light on each pixel of a picture drawn in width x height pixels, 0 to 1: weights are interpolated between the
// centres of the cells, and 1 is the largest weight of the frame, or style.max_weight.
std::vector<float> light_on(const PictureFrame& frame, const RecordImage& image, const PictureStyle& style,
                            int64_t width, int64_t height);
// A translucent layer over a pixel: its colour and its opacity.
struct Veil {
  Rgb colour;
  double opacity;
};
Veil veil_of(float light);
Rgb seen_through(Veil veil, Rgb pixel);

}  // namespace fovea
