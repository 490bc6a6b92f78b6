#include "view/picture_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "view/svg_canvas.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

// Black dims what has no light; a warm white lifts what has, so that it also shows on a dark picture.
constexpr double kDimmed = 0.8, kLifted = 0.26;
constexpr Rgb kLight{255, 246, 214};

PictureFrame frame_of(const Grid& grid, std::span<const float> weights, Label label) {
  PictureFrame frame;
  frame.label = std::move(label);
  const auto cells = static_cast<size_t>(grid.image->cells());
  for (const float w : weights.first(cells)) frame.cells.push_back(is_absent(w) ? 0.0F : w);
  if (weights.size() > cells) frame.no_place = is_absent(weights[cells]) ? 0.0 : static_cast<double>(weights[cells]);
  return frame;
}

void check_picture(const Grid& grid, std::string_view view) {
  check(grid.image != nullptr, "{}: expected attention over a picture, got {}", view, grid.title);
  check_grid(grid, view);
  const int64_t cells = grid.image->cells();
  check(cells > 0 && (grid.width() == cells || grid.width() == cells + 1),
        "{}: expected a column for each of {} cells, got {}", view, cells, grid.width());
}

constexpr size_t kMostCells = 11;  // frames of self-attention; with the picture itself they fill whole lines

// At most `count` cells that look far, none beside another, in their order: those with the largest product of a weight
// and its distance.
std::vector<int64_t> far_looking(const Grid& grid, size_t count) {
  const int64_t wide = grid.image->columns, cells = grid.image->cells();
  const auto apart = [wide](int64_t a, int64_t b) {
    return std::max(std::abs(a / wide - b / wide), std::abs(a % wide - b % wide));
  };
  std::vector<std::pair<float, int64_t>> found;
  for (int64_t row = 0; row < cells; ++row) {
    float most = 0;
    for (int64_t c = 0; c < cells; ++c) {
      if (!is_absent(grid.at(row, c))) most = std::max(most, grid.at(row, c) * static_cast<float>(apart(row, c)));
    }
    found.emplace_back(-most, row);
  }
  std::sort(found.begin(), found.end());
  std::vector<int64_t> chosen;
  for (const auto& [weight, row] : found) {
    const auto near = [&, cell = row](int64_t other) { return apart(cell, other) <= 1; };
    if (chosen.size() < count && std::none_of(chosen.begin(), chosen.end(), near)) chosen.push_back(row);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

uint8_t mixed(uint8_t below, uint8_t above, double opacity) {
  return static_cast<uint8_t>(std::lround(below + (above - below) * opacity));
}

}  // namespace

std::vector<PictureFrame> frames_of(const Grid& grid, std::string_view view) {
  check_picture(grid, view);
  std::vector<PictureFrame> frames;
  const auto add = [&](size_t r) -> PictureFrame& {
    const auto row = std::span(grid.weights).subspan(r * grid.columns.size(), grid.columns.size());
    frames.push_back(frame_of(grid, row, grid.rows[r]));
    if (!grid.notes.empty()) frames.back().probability = grid.notes[r].probability;
    return frames.back();
  };
  if (has_cells_as_rows(grid)) {
    if (grid.cell)
      check(*grid.cell >= 0 && *grid.cell < grid.image->cells(), "{}: expected a cell of the picture", view);
    const std::vector<int64_t> cells =
        grid.cell ? std::vector{*grid.cell} : far_looking(grid, view == "overlay" ? 1 : kMostCells);
    for (const int64_t cell : cells) {
      PictureFrame& frame = add(static_cast<size_t>(cell));
      frame.from = cell;
      frame.label.text = fmt::format("cell {},{}", cell / grid.image->columns + 1, cell % grid.image->columns + 1);
    }
    return frames;
  }
  const bool only_marks = std::all_of(grid.rows.begin(), grid.rows.end(), [](const Label& l) { return l.mark; });
  for (size_t r = 0; r < grid.rows.size(); ++r) {
    if (!grid.rows[r].mark || only_marks) add(r);
  }
  return frames;
}

std::vector<PictureFrame> frames_of_heads(std::span<const Grid> grids) {
  check(!grids.empty(), "heads: expected at least one grid, got none");
  const std::string common = common_title(grids);
  std::vector<PictureFrame> frames;
  for (const Grid& grid : grids) {
    check_picture(grid, "heads");
    std::vector<float> mean(grid.columns.size());
    for (size_t i = 0; i < grid.weights.size(); ++i) {
      if (is_absent(grid.weights[i])) continue;
      mean[i % mean.size()] += grid.weights[i] / static_cast<float>(grid.rows.size());
    }
    const size_t from = grid.title.find_first_not_of(", ", common.size());
    std::string own = from == std::string::npos ? grid.title : grid.title.substr(from);
    if (grids.size() == 1) own = "all words";  // the title of the view names the attention
    frames.push_back(frame_of(grid, mean, {own, true, false}));
  }
  return frames;
}

std::string heads_title(std::span<const Grid> grids) {
  const std::string common = common_title(grids);
  return common + (common.empty() ? "" : ", ") + "mean of all words";
}

bool has_cells_as_rows(const Grid& grid) {
  return grid.image && grid.row_name == grid.column_name && grid.height() == grid.image->cells();
}

std::string_view each_row(const Grid& grid) {
  return has_cells_as_rows(grid) ? "cell" : grid.named_rows ? "row" : "word";
}

std::string brightness_text(const PictureStyle& style, std::string_view of_each) {
  const std::string how = style.scale == "linear" ? "" : fmt::format(", {} scale", style.scale);
  return style.max_weight > 0 ? fmt::format("brightest: weight {}{}", style.max_weight, how)
                              : fmt::format("brightest: the largest weight of each {}{}", of_each, how);
}

double frame_width(const RecordImage& image, double side) {
  const double aspect = static_cast<double>(image.width) / static_cast<double>(image.height);
  return std::min({side * std::sqrt(aspect), side * 2, side * 2 * aspect});
}

std::vector<float> light_on(const PictureFrame& frame, const RecordImage& image, const PictureStyle& style,
                            int64_t width, int64_t height) {
  PictureStyle own = style;
  if (own.max_weight == 0) own.max_weight = *std::max_element(frame.cells.begin(), frame.cells.end());
  const WeightScale scale(own, std::span<const Grid>{});
  // The two cells whose centres are around a pixel's centre, and how far it is from the first to the second.
  struct Between {
    int64_t first, second;
    float part;
  };
  const auto between = [](int64_t pixel, int64_t pixels, int64_t cells) {
    const double at = (static_cast<double>(pixel) + 0.5) * static_cast<double>(cells) / static_cast<double>(pixels);
    const double place = std::clamp(at - 0.5, 0.0, static_cast<double>(cells - 1));
    const auto first = static_cast<int64_t>(place);
    return Between{first, std::min(first + 1, cells - 1), static_cast<float>(place - static_cast<double>(first))};
  };
  const auto cell = [&](int64_t r, int64_t c) { return frame.cells[static_cast<size_t>(r * image.columns + c)]; };
  std::vector<float> light;
  light.reserve(static_cast<size_t>(width * height));
  for (int64_t y = 0; y < height; ++y) {
    const Between r = between(y, height, image.rows);
    for (int64_t x = 0; x < width; ++x) {
      const Between c = between(x, width, image.columns);
      const float above = std::lerp(cell(r.first, c.first), cell(r.first, c.second), c.part);
      const float below = std::lerp(cell(r.second, c.first), cell(r.second, c.second), c.part);
      light.push_back(static_cast<float>(scale.share(std::lerp(above, below, r.part))));
    }
  }
  return light;
}

Veil veil_of(float light) {
  const double dark = kDimmed * (1 - light), lift = kLifted * light, opacity = lift + dark * (1 - lift);
  const double part = opacity > 0 ? lift / opacity : 0;
  return {{mixed(0, kLight.red, part), mixed(0, kLight.green, part), mixed(0, kLight.blue, part)}, opacity};
}

Rgb seen_through(Veil veil, Rgb pixel) {
  return {mixed(pixel.red, veil.colour.red, veil.opacity), mixed(pixel.green, veil.colour.green, veil.opacity),
          mixed(pixel.blue, veil.colour.blue, veil.opacity)};
}

}  // namespace fovea
