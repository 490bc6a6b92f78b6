#include "view/svg_film.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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
  double line, size, left, step, top;

  double x(int64_t row) const { return left + step * static_cast<double>(row); }
  double y(int64_t column) const { return top + line * (static_cast<double>(column) + 0.5); }
  double thick(double mass) const { return mass * line * 0.92; }
};

constexpr double kMostEms = 10, kPost = 5;  // of labels; the width of a row's bars
constexpr double kLeastMove = 0.005;

double draw_moves(Canvas& canvas, const Grid& grid, const Film& film, int64_t row) {
  std::vector<double> left(grid.columns.size()), came(grid.columns.size());
  const std::vector<Move> moves = transport(grid, row, row + 1);
  for (const Move& move : moves) {
    left[static_cast<size_t>(move.from)] += move.mass;
    came[static_cast<size_t>(move.to)] += move.mass;
  }
  const auto start = [&](std::vector<double>& masses, int64_t column) {
    return film.y(column) - film.thick(masses[static_cast<size_t>(column)]) / 2;
  };
  std::vector<double> from(grid.columns.size()), to(grid.columns.size());
  for (int64_t c = 0; c < grid.width(); ++c) {
    from[static_cast<size_t>(c)] = start(left, c);
    to[static_cast<size_t>(c)] = start(came, c);
  }
  double way = 0;
  for (const Move& move : moves) {
    double &a = from[static_cast<size_t>(move.from)], &b = to[static_cast<size_t>(move.to)];
    const double thick = film.thick(move.mass);
    way += move.mass * static_cast<double>(std::abs(move.to - move.from));
    if (move.mass >= kLeastMove) {
      canvas.xml().open("path").set("class", "link").set("fill-opacity", move.from == move.to ? 0.22 : 0.45);
      const Point begin{film.x(row) + kPost / 2, a}, end{film.x(row + 1) - kPost / 2, b};
      canvas.xml().set("data-column", static_cast<double>(move.from)).set("data-row", static_cast<double>(row));
      canvas.xml().set("d", ribbon_right(begin, end, thick)).leaf();
    }
    a += thick;
    b += thick;
  }
  return way;
}

}  // namespace

void draw_film(Canvas& canvas, double y, const Grid& grid) {
  Film film{};
  film.line = std::clamp(std::floor(760.0 / static_cast<double>(grid.width())), 6.0, 22.0);
  film.size = std::min(13.0, film.line * 0.86);
  double names = 0, heads = 0;
  for (const Label& label : grid.columns) names = std::max(names, std::min(ems(shown(label)), kMostEms) * film.size);
  for (const Label& label : grid.rows) heads = std::max(heads, std::min(ems(shown(label)), kMostEms) * 13);
  film.step = std::max(44.0, heads + 12);
  film.left = kMargin + names + 14 + film.step / 2;
  film.top = y + 66;
  const double bottom = film.top + film.line * static_cast<double>(grid.width());
  for (int64_t c = 0; c < grid.width(); ++c) {
    canvas.label(grid.columns[static_cast<size_t>(c)],
                 {.x = kMargin + names, .y = film.y(c) + film.size * 0.35, .size = film.size, .side = Side::kRight},
                 kMostEms);
    canvas.xml().open("path").set("class", "rule").set("stroke-opacity", 0.5);
    canvas.xml()
        .set("d", fmt::format("M{:.1f} {:.1f}H{:.1f}", kMargin + names + 8, film.y(c),
                              film.x(grid.height() - 1) + film.step / 2))
        .leaf();
  }
  double way = 0;
  for (int64_t r = 0; r + 1 < grid.height(); ++r) way += draw_moves(canvas, grid, film, r);
  for (int64_t r = 0; r < grid.height(); ++r) {
    canvas.label(grid.rows[static_cast<size_t>(r)], {.x = film.x(r), .y = film.top - 8, .side = Side::kMiddle},
                 kMostEms);
  }
  for (const Link& link : cut_links(grid, 0).drawn) {
    canvas.xml().open("rect").set("class", "link").set("x", film.x(link.row) - kPost / 2).set("width", kPost);
    canvas.xml().set("y", film.y(link.column) - film.thick(link.weight) / 2).set("height", film.thick(link.weight));
    canvas.xml().leaf();
  }
  const double mean = grid.height() > 1 ? way / static_cast<double>(grid.height() - 1) : 0;
  canvas.heading(y, "Over time",
                 fmt::format("how attention moves over the {} from one {} token to the next: {:.1f} places a step on "
                             "average; moves of less than {:.1f}% are not drawn",
                             grid.column_name, grid.row_name, mean, 100 * kLeastMove));
  canvas.reach(film.x(grid.height() - 1) + film.step / 2, bottom + 4);
}

}  // namespace fovea
