// Draws the heat map: a cell for every weight, a token beside every row and above every column.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "view/svg.h"
#include "view/svg_cells.h"
#include "view/svg_text.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

constexpr double kMaxEms = 16;  // of a label
constexpr double kNames = 34;   // the height of the names of both sides, in the corner

double widest(const std::vector<Label>& labels) {
  double most = 0;
  for (const Label& label : labels) most = std::max(most, std::min(ems(shown(label)), kMaxEms));
  return most;
}

// Whether every label fits above its column. A special token, which is at an end, may extend beyond its column.
bool fit_above(const std::vector<Label>& labels, double cell, double size) {
  return std::all_of(labels.begin(), labels.end(), [&](const Label& label) {
    return ems(shown(label)) * size <= (label.mark ? cell * 1.5 : cell - 4);
  });
}

// The sizes, which depend on the number of cells and the lengths of the labels.
struct Plan {
  double cell_width, cell_height, size;  // size: of the labels' font
  double turn = 0;                       // of the columns' labels, degrees
  double row_space, column_space, overhang = 0;

  explicit Plan(const Grid& grid) {
    const double most = static_cast<double>(std::max(grid.height(), grid.width()));
    const bool few = grid.height() <= 16 && grid.width() <= 20;
    // Labels are never smaller than 12 units; with more tokens the picture grows instead.
    cell_height = few ? 28 : std::clamp(std::floor(900 / most), 14.0, 22.0);
    cell_width = few ? 38 : cell_height;
    size = std::min(13.0, cell_height * 0.86);
    const double column = widest(grid.columns) * size;
    row_space = widest(grid.rows) * size + 8;
    column_space = std::max(size + 8, kNames);
    if (fit_above(grid.columns, cell_width, size)) return;
    turn = cell_width >= 20 ? -45 : -90;
    column_space = std::max(column * std::sin(-turn * std::numbers::pi / 180) + size, kNames);
    overhang = turn == -45 ? column * std::numbers::sqrt2 / 2 : 0;
  }
};

void draw_labels(Canvas& canvas, const Grid& grid, const Plan& plan, const CellBox& box) {
  for (size_t r = 0; r < grid.rows.size(); ++r) {
    const double middle = box.y + plan.cell_height * (static_cast<double>(r) + 0.5);
    canvas.label(grid.rows[r],
                 {.x = box.x - 8, .y = middle + plan.size * 0.35, .size = plan.size, .anchor = Anchor::kRight},
                 kMaxEms);
  }
  for (size_t c = 0; c < grid.columns.size(); ++c) {
    const double middle = box.x + plan.cell_width * (static_cast<double>(c) + 0.5);
    TextAt at{.x = middle, .y = box.y - 8, .size = plan.size, .anchor = Anchor::kMiddle};
    if (plan.turn != 0) {
      at.x += plan.turn == -90 ? plan.size * 0.35 : plan.size * 0.1;
      at.anchor = Anchor::kLeft;
      at.turn = plan.turn;
    }
    canvas.label(grid.columns[c], at, kMaxEms);
  }
}

// Draws the bands that html_page.js moves to the cell under the pointer, and the position of the cells as attributes.
void draw_pointer(Canvas& canvas, const Grid& grid, const CellBox& box) {
  const double width = box.width * static_cast<double>(grid.width());
  const double height = box.height * static_cast<double>(grid.height());
  const auto band = [&](std::string_view name, double w, double h) {
    canvas.xml().open("rect").set("class", name).set("x", box.x).set("y", box.y).set("width", w).set("height", h);
    canvas.xml().set("fill", "none").set("visibility", "hidden").set("pointer-events", "none").leaf();
  };
  band("band row", width, box.height);
  band("band column", box.width, height);
  band("band cell", box.width, box.height);
}

}  // namespace

std::string draw_heatmap(const Grid& grid, const PictureStyle& style, Medium medium) {
  check_grid(grid, "heatmap");
  Canvas canvas(WeightScale(style, grid), medium);
  const Plan plan(grid);
  double y = canvas.title(grid.title);
  y = canvas.legend(y + 4, {.absent = has_absent(grid), .hard = grid.hard});
  const double names = std::max(plan.row_space, std::max(ems(grid.row_name), ems(grid.column_name)) * 12 + 28);
  const CellBox box{kMargin + names, y + plan.column_space, plan.cell_width, plan.cell_height};
  const auto name = [&](const std::string& what, double above) {
    canvas.text(what, {.x = box.x - 8, .y = box.y - above, .size = 12, .css_class = "faint", .anchor = Anchor::kRight});
  };
  name(grid.column_name + " →", 24);
  name(grid.row_name + " ↓", 8);
  draw_labels(canvas, grid, plan, box);
  const double right = box.x + box.width * static_cast<double>(grid.width());
  const double bottom = box.y + box.height * static_cast<double>(grid.height());
  Xml& xml = canvas.xml();
  xml.open("g").set("class", "cells").set("data-x", box.x).set("data-y", box.y).set("data-width", box.width);
  xml.set("data-height", box.height).set("shape-rendering", "crispEdges");
  const bool few = grid.height() * grid.width() <= kMaxRectangles;
  if (few) draw_cells(canvas, grid, box);
  if (!few) draw_cells_as_image(canvas, grid, box);
  xml.close();
  draw_cell_lines(canvas, grid, box);
  if (grid.hard) mark_chosen(canvas, grid, box);
  xml.open("rect").set("x", box.x).set("y", box.y).set("width", right - box.x).set("height", bottom - box.y);
  xml.set("fill", "none").set("class", "rule").leaf();
  if (canvas.page()) draw_pointer(canvas, grid, box);
  canvas.reach(right + plan.overhang, bottom);
  return canvas.finish(grid.title);
}

std::string heatmap_svg(const Grid& grid, const PictureStyle& style) { return draw_heatmap(grid, style, {}); }

}  // namespace fovea
