#include "view/svg_film.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "view/links.h"
#include "view/svg_text.h"

namespace fovea {

namespace {

struct Point {
  double x, y;
};

// A band of one thickness from `a` to `b`, its upper edge; bent so that it leaves and arrives straight.
std::string ribbon_right(Point a, Point b, double thick) {
  const double middle = (a.x + b.x) / 2;
  return fmt::format(
      "M{1:.1f} {0:.1f}C{2:.1f} {0:.1f} {2:.1f} {3:.1f} {4:.1f} {3:.1f}v{5:.2f}C{2:.1f} {6:.1f} {2:.1f} "
      "{7:.1f} {1:.1f} {7:.1f}Z",
      a.y, a.x, middle, b.y, b.x, thick, b.y + thick, a.y + thick);
}

// Steps from left to right, columns of the grid from top to bottom.
struct Film {
  double line, size, names, left, step, top, right;

  double x(int64_t row) const { return left + step * static_cast<double>(row); }
  double y(int64_t column) const { return top + line * (static_cast<double>(column) + 0.5); }
  double thick(double mass) const { return mass * line * 0.92; }
};

constexpr double kMostEms = 10, kPost = 5;  // of labels; the width of a row's bars
constexpr double kLeastMove = 0.005;        // of a row's attention

// Each end of a ribbon lies beside those before it; what arrives or leaves at a column is centred on its rail.
void draw_moves(Canvas& canvas, const std::vector<Move>& moves, const Film& film, int64_t row) {
  std::map<int64_t, double> from, to;  // where the next ribbon begins and ends
  for (const Move& move : moves) {
    from.try_emplace(move.from, film.y(move.from)).first->second -= film.thick(move.mass) / 2;
    to.try_emplace(move.to, film.y(move.to)).first->second -= film.thick(move.mass) / 2;
  }
  for (const Move& move : moves) {
    const double thick = film.thick(move.mass);
    const Point begin{film.x(row) + kPost / 2, from[move.from]}, end{film.x(row + 1) - kPost / 2, to[move.to]};
    from[move.from] += thick;
    to[move.to] += thick;
    if (move.mass < kLeastMove) continue;
    canvas.xml().open("path").set("class", "link").set("fill-opacity", move.from == move.to ? 0.22 : 0.45);
    canvas.xml().set("data-column", static_cast<double>(move.from)).set("data-row", static_cast<double>(row));
    canvas.xml().set("d", ribbon_right(begin, end, thick)).leaf();
  }
}

Film plan(const Grid& grid, double y) {
  Film film{};
  film.line = std::clamp(std::floor(760.0 / static_cast<double>(grid.width())), 6.0, 22.0);
  film.size = std::min(13.0, film.line * 0.86);
  double names = 0, heads = 0;
  for (const Label& label : grid.columns) names = std::max(names, std::min(ems(shown(label)), kMostEms) * film.size);
  for (const Label& label : grid.rows) heads = std::max(heads, std::min(ems(shown(label)), kMostEms) * 13);
  film.names = kMargin + names;
  film.step = std::max(44.0, heads + 12);
  film.left = film.names + 14 + film.step / 2;
  film.top = y + 66;
  film.right = film.x(grid.height() - 1) + film.step / 2;
  return film;
}

void draw_rails(Canvas& canvas, const Grid& grid, const Film& film) {
  for (int64_t c = 0; c < grid.width(); ++c) {
    const TextAt at{.x = film.names, .y = film.y(c) + film.size * 0.35, .size = film.size, .side = Side::kRight};
    canvas.label(grid.columns[static_cast<size_t>(c)], at, kMostEms);
    canvas.xml().open("path").set("class", "rule").set("stroke-opacity", 0.5);
    canvas.xml().set("d", fmt::format("M{:.1f} {:.1f}H{:.1f}", film.names + 8, film.y(c), film.right)).leaf();
  }
  for (int64_t r = 0; r < grid.height(); ++r) {
    const TextAt at{.x = film.x(r), .y = film.top - 8, .side = Side::kMiddle};
    canvas.label(grid.rows[static_cast<size_t>(r)], at, kMostEms);
  }
}

void draw_posts(Canvas& canvas, const Grid& grid, const Film& film) {
  for (int64_t r = 0; r < grid.height(); ++r) {
    for (int64_t c = 0; c < grid.width(); ++c) {
      const float weight = grid.at(r, c);
      if (is_absent(weight) || weight < kLeastMove) continue;
      canvas.xml().open("rect").set("class", "link").set("x", film.x(r) - kPost / 2).set("width", kPost);
      canvas.xml().set("y", film.y(c) - film.thick(weight) / 2).set("height", film.thick(weight)).leaf();
    }
  }
}

}  // namespace

void draw_film(Canvas& canvas, double y, const Grid& grid) {
  if (grid.height() < 2) return;
  const Film film = plan(grid, y);
  draw_rails(canvas, grid, film);
  for (int64_t r = 0; r + 1 < grid.height(); ++r) draw_moves(canvas, transport(grid, r, r + 1), film, r);
  draw_posts(canvas, grid, film);
  canvas.heading(
      y, "Over time",
      fmt::format("how attention moves over the {} from each {} token to the next, {:.1f} places a step; less "
                  "than {:.1f}% is not drawn",
                  grid.column_name, grid.row_name, mean_move(grid), 100 * kLeastMove));
  canvas.reach(film.right, film.top + film.line * static_cast<double>(grid.width()) + 4);
}

}  // namespace fovea
