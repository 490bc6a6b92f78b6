// Draws layers and heads side by side, each as a small heat map without labels; the tokens are listed once below.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "view/svg.h"
#include "view/svg_cells.h"
#include "view/svg_sentence.h"
#include "view/svg_text.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

// The part of a grid's title that the common title does not have.
std::string own_title(const Grid& grid, const std::string& common) {
  const size_t from = grid.title.find_first_not_of(", ", common.size());
  return from == std::string::npos ? "" : grid.title.substr(from);
}

bool same_tokens(std::span<const Grid> grids) {
  const auto same = [](const std::vector<Label>& a, const std::vector<Label>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Label& x, const Label& y) { return x.text == y.text; });
  };
  return std::all_of(grids.begin(), grids.end(),
                     [&](const Grid& g) { return same(g.rows, grids[0].rows) && same(g.columns, grids[0].columns); });
}

double draw_tokens(Canvas& canvas, double y, const std::string& heading, std::span<const Label> labels, double width) {
  canvas.text(heading, {.x = kMargin, .y = y + 12, .size = 12, .css_class = "faint"});
  const Sentence sentence = lay_out(labels, {.max_width = width});
  for (size_t i = 0; i < labels.size(); ++i) draw_word(canvas, sentence, i, {.x = kMargin - 3, .y = y + 18});
  canvas.reach(kMargin + sentence.width, y + 18 + sentence.height);
  return y + 18 + sentence.height + 14;
}

}  // namespace

std::string common_title(std::span<const Grid> grids) {
  std::string common = grids[0].title;
  if (grids.size() == 1) return common;
  for (const Grid& grid : grids) {
    const auto [end, other] = std::mismatch(common.begin(), common.end(), grid.title.begin(), grid.title.end());
    if (end != common.end() || other != grid.title.end()) common.erase(end, common.end());
  }
  const size_t comma = common.rfind(',');
  return common.substr(0, comma == std::string::npos ? 0 : comma);
}

std::string draw_heads(std::span<const Grid> grids, const PictureStyle& style, int columns, Medium medium) {
  check(!grids.empty(), "heads: expected at least one grid, got none");
  check(columns > 0, "heads: expected at least one column, got {}", columns);
  int64_t most_rows = 0, most_columns = 0;
  bool absent = false;
  for (const Grid& grid : grids) {
    check_grid(grid, "heads");
    most_rows = std::max(most_rows, grid.height());
    most_columns = std::max(most_columns, grid.width());
    absent = absent || has_absent(grid);
  }
  const double most = static_cast<double>(std::max(most_rows, most_columns));
  const double cell = most > 130 ? 130 / most : std::clamp(std::floor(130 / most), 1.0, 12.0);
  const std::string common = common_title(grids);
  double captions = 0;
  for (const Grid& grid : grids) captions = std::max(captions, std::min(ems(own_title(grid, common)), 15.0) * 12);
  const double wide = std::max({cell * static_cast<double>(most_columns), captions, 48.0});
  const double high = cell * static_cast<double>(most_rows);

  Canvas canvas(WeightScale(style, grids), medium);
  const double top = canvas.legend(canvas.title(common.empty() ? "heads" : common) + 4, {.absent = absent});
  for (size_t i = 0; i < grids.size(); ++i) {
    const double x = kMargin + static_cast<double>(i % static_cast<size_t>(columns)) * (wide + 18);
    const double y = top + static_cast<double>(i / static_cast<size_t>(columns)) * (high + 38);
    const std::string own = own_title(grids[i], common);
    Xml& xml = canvas.xml();
    xml.open("g").set("class", "head").set("role", "img").set("aria-label", grids[i].title);
    if (canvas.page()) xml.set("tabindex", "0");
    xml.element("title", grids[i].title);
    canvas.text(shorten(own, 15), {.x = x, .y = y + 11, .size = 12});
    draw_cells_as_image(canvas, grids[i], {x, y + 18, cell, cell});
    xml.open("rect").set("x", x).set("y", y + 18).set("width", cell * static_cast<double>(grids[i].width()));
    xml.set("height", cell * static_cast<double>(grids[i].height())).set("fill", "none").set("class", "rule").leaf();
    xml.close();
    canvas.reach(x + wide, y + 18 + high);
  }
  if (!same_tokens(grids)) return canvas.finish(common);
  const size_t lines = (grids.size() + static_cast<size_t>(columns) - 1) / static_cast<size_t>(columns);
  double y = top + static_cast<double>(lines) * (high + 38) + 8;
  const double width = std::max(480.0, std::min(static_cast<double>(columns), 8.0) * (wide + 18));
  y = draw_tokens(canvas, y, grids[0].row_name + ", top to bottom", grids[0].rows, width);
  draw_tokens(canvas, y, grids[0].column_name + ", left to right", grids[0].columns, width);
  return canvas.finish(common);
}

std::string heads_svg(std::span<const Grid> grids, const PictureStyle& style, int columns) {
  return draw_heads(grids, style, columns, {});
}

}  // namespace fovea
