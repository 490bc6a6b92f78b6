#include "view/svg_transport.h"

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

// A band of constant thickness whose upper edge runs from `a` to `b` and is horizontal at both ends.
std::string ribbon_right(Point a, Point b, double thick) {
  const double middle = (a.x + b.x) / 2;
  return fmt::format(
      "M{1:.1f} {0:.1f}C{2:.1f} {0:.1f} {2:.1f} {3:.1f} {4:.1f} {3:.1f}v{5:.2f}C{2:.1f} {6:.1f} {2:.1f} "
      "{7:.1f} {1:.1f} {7:.1f}Z",
      a.y, a.x, middle, b.y, b.x, thick, b.y + thick, a.y + thick);
}

// Positions in the picture.
struct Layout {
  double line, size, names, left, step, top, right;

  double x(int64_t row) const { return left + step * static_cast<double>(row); }
  double y(int64_t column) const { return top + line * (static_cast<double>(column) + 0.5); }
  double thick(double mass) const { return mass * line * 0.92; }
};

constexpr double kMaxEms = 10, kPost = 5;  // of a label; the width of the bars of a step
constexpr double kMinMove = 0.005;         // a smaller share of a row's attention is not drawn

// The ribbons that start or end at a column are stacked without overlap, and the stack is centred on the column's rail.
void draw_moves(Canvas& canvas, const std::vector<Move>& moves, const Layout& layout, int64_t row) {
  std::map<int64_t, double> from, to;  // y of the next ribbon at each column
  for (const Move& move : moves) {
    from.try_emplace(move.from, layout.y(move.from)).first->second -= layout.thick(move.mass) / 2;
    to.try_emplace(move.to, layout.y(move.to)).first->second -= layout.thick(move.mass) / 2;
  }
  for (const Move& move : moves) {
    const double thick = layout.thick(move.mass);
    const Point begin{layout.x(row) + kPost / 2, from[move.from]}, end{layout.x(row + 1) - kPost / 2, to[move.to]};
    from[move.from] += thick;
    to[move.to] += thick;
    if (move.mass < kMinMove) continue;
    canvas.xml().open("path").set("class", "link").set("fill-opacity", move.from == move.to ? 0.22 : 0.45);
    canvas.xml().set("data-column", static_cast<double>(move.from)).set("data-row", static_cast<double>(row));
    canvas.xml().set("d", ribbon_right(begin, end, thick)).leaf();
  }
}

Layout plan(const Grid& grid, double y) {
  Layout layout{};
  layout.line = std::clamp(std::floor(760.0 / static_cast<double>(grid.width())), 6.0, 22.0);
  layout.size = std::min(13.0, layout.line * 0.86);
  double names = 0, heads = 0;
  for (const Label& label : grid.columns) names = std::max(names, std::min(ems(shown(label)), kMaxEms) * layout.size);
  for (const Label& label : grid.rows) heads = std::max(heads, std::min(ems(shown(label)), kMaxEms) * 13);
  layout.names = kMargin + names;
  layout.step = std::max(44.0, heads + 12);
  layout.left = layout.names + 14 + layout.step / 2;
  layout.top = y + 66;
  layout.right = layout.x(grid.height() - 1) + layout.step / 2;
  return layout;
}

void draw_rails(Canvas& canvas, const Grid& grid, const Layout& layout) {
  for (int64_t c = 0; c < grid.width(); ++c) {
    const TextAt at{
        .x = layout.names, .y = layout.y(c) + layout.size * 0.35, .size = layout.size, .anchor = Anchor::kRight};
    canvas.label(grid.columns[static_cast<size_t>(c)], at, kMaxEms);
    canvas.xml().open("path").set("class", "rule").set("stroke-opacity", 0.5);
    canvas.xml().set("d", fmt::format("M{:.1f} {:.1f}H{:.1f}", layout.names + 8, layout.y(c), layout.right)).leaf();
  }
  for (int64_t r = 0; r < grid.height(); ++r) {
    const TextAt at{.x = layout.x(r), .y = layout.top - 8, .anchor = Anchor::kMiddle};
    canvas.label(grid.rows[static_cast<size_t>(r)], at, kMaxEms);
  }
}

void draw_posts(Canvas& canvas, const Grid& grid, const Layout& layout) {
  for (int64_t r = 0; r < grid.height(); ++r) {
    for (int64_t c = 0; c < grid.width(); ++c) {
      const float weight = grid.at(r, c);
      if (is_absent(weight) || weight < kMinMove) continue;
      canvas.xml().open("rect").set("class", "link").set("x", layout.x(r) - kPost / 2).set("width", kPost);
      canvas.xml().set("y", layout.y(c) - layout.thick(weight) / 2).set("height", layout.thick(weight)).leaf();
    }
  }
}

}  // namespace

void draw_transport(Canvas& canvas, double y, const Grid& grid) {
  if (grid.height() < 2) return;
  const Layout layout = plan(grid, y);
  draw_rails(canvas, grid, layout);
  for (int64_t r = 0; r + 1 < grid.height(); ++r) draw_moves(canvas, transport(grid, r, r + 1), layout, r);
  draw_posts(canvas, grid, layout);
  canvas.heading(
      y, "Over time",
      fmt::format("how attention moves over the {} from each {} token to the next, {:.1f} places a step; less "
                  "than {:.1f}% is not drawn",
                  grid.column_name, grid.row_name, mean_move(grid), 100 * kMinMove));
  canvas.reach(layout.right, layout.top + layout.line * static_cast<double>(grid.width()) + 4);
}

}  // namespace fovea
