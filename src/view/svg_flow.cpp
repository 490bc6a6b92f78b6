// Draws the flow of attention: ribbons as thick as weights from the attended sentence down to the attending words, and
// below it how attention moves over that sentence from word to word. The picture states how much it hides.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "view/links.h"
#include "view/svg.h"
#include "view/svg_sentence.h"
#include "view/svg_text.h"
#include "view/svg_transport.h"
#include "view/svg_views.h"

namespace fovea {

namespace {

struct Point {
  double x, y;
};

// A band of constant thickness whose left edge runs from `a` to `b` and is vertical at both ends.
std::string ribbon_down(Point a, Point b, double thick) {
  const double middle = (a.y + b.y) / 2;
  return fmt::format(
      "M{0:.1f} {1:.1f}C{0:.1f} {2:.1f} {3:.1f} {2:.1f} {3:.1f} {4:.1f}h{5:.2f}C{6:.1f} {2:.1f} {7:.1f} "
      "{2:.1f} {7:.1f} {1:.1f}Z",
      a.x, a.y, middle, b.x, b.y, thick, b.x + thick, a.x + thick);
}

std::vector<double> totals(const Grid& grid, bool of_rows) {
  std::vector<double> sums(of_rows ? grid.rows.size() : grid.columns.size(), 0.0);
  for (int64_t r = 0; r < grid.height(); ++r) {
    for (int64_t c = 0; c < grid.width(); ++c) {
      if (!is_absent(grid.at(r, c))) sums[static_cast<size_t>(of_rows ? r : c)] += grid.at(r, c);
    }
  }
  return sums;
}

// One of the two sentences. Each word has a bar at its edge, as long as its attention, where its ribbons start.
struct FlowSide {
  Sentence sentence;
  std::vector<double> lengths;  // of the bars
  std::vector<double> used;     // length of each bar that has ribbons already, from its left
  double x = 0, y = 0;          // upper left corner of the sentence
  double edge = 0;              // y of the bars

  FlowSide(const std::vector<Label>& labels, std::vector<double> bars)
      : lengths(std::move(bars)), used(lengths.size()) {
    std::vector<double> least;
    for (const double length : lengths) least.push_back(length + 6);
    sentence = lay_out(labels, {.min_widths = least});
  }
  double center(int64_t i) const {
    const Word& word = sentence.words[static_cast<size_t>(i)];
    return x + word.x + word.width / 2;
  }
  // Reserves the next part of a bar for a ribbon and returns its left end.
  double reserve(int64_t i, double thick) {
    const auto at = static_cast<size_t>(i);
    return center(i) - lengths[at] / 2 + std::exchange(used[at], used[at] + thick);
  }
};

void draw_side(Canvas& canvas, const FlowSide& side, std::string_view name) {
  for (size_t i = 0; i < side.sentence.words.size(); ++i) {
    Xml& xml = canvas.xml();
    xml.open("g").set("class", "word").set("data-side", name).set("data-index", static_cast<double>(i));
    if (canvas.page()) {
      xml.set("tabindex", "0").set("role", "button");
      xml.set("aria-label", fmt::format("{} {}: {}", name, i + 1, shown(side.sentence.labels[i])));
    }
    const Word& word = side.sentence.words[i];
    xml.open("rect").set("class", "target").set("x", side.x + word.x).set("y", side.y + word.y).set("rx", 3);
    xml.set("width", word.width).set("height", side.sentence.line()).set("fill", "transparent").leaf();
    draw_word(canvas, side.sentence, i, {.x = side.x, .y = side.y});
    xml.open("rect").set("class", "mass").set("x", side.center(static_cast<int64_t>(i)) - side.lengths[i] / 2);
    xml.set("y", side.edge).set("width", std::max(0.5, side.lengths[i])).set("height", 3).leaf();
    xml.close();
  }
}

double draw_ribbons(Canvas& canvas, double y, const Grid& grid, const PrunedLinks& pruned) {
  const double unit = std::clamp(420.0 / static_cast<double>(grid.height()), 3.0, 20.0);  // thickness of a weight of 1
  const auto bars = [&](bool of_rows) {
    std::vector<double> lengths = totals(grid, of_rows);
    for (double& length : lengths) length *= unit;
    return lengths;
  };
  FlowSide source(grid.columns, bars(false)), target(grid.rows, bars(true));
  const double width = std::max(source.sentence.width, target.sentence.width);
  const double drop = std::clamp(width / 4, 110.0, 260.0);
  source.x = kMargin + (width - source.sentence.width) / 2;
  target.x = kMargin + (width - target.sentence.width) / 2;
  source.y = y + 18;
  source.edge = source.y + source.sentence.line() + 4;
  target.edge = source.edge + 3 + drop;
  target.y = target.edge + 3 + 4;
  canvas.text(grid.column_name, {.x = kMargin, .y = y + 10, .size = 12, .css_class = "faint"});

  // At each word ribbons are in the order of the words they come from, so that they do not cross there.
  std::vector<DrawnLink> links = pruned.drawn;
  std::vector<double> tops(links.size()), feet(links.size());
  const auto place = [&](FlowSide& side, auto own, auto other, std::vector<double>& to) {
    std::vector<size_t> order(links.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return other(links[a]) < other(links[b]); });
    for (const size_t i : order) to[i] = side.reserve(own(links[i]), links[i].weight * unit);
  };
  const auto row = [](const DrawnLink& l) { return l.row; };
  const auto column = [](const DrawnLink& l) { return l.column; };
  place(
      source, column, [&](const DrawnLink& l) { return target.center(l.row); }, tops);
  place(
      target, row, [&](const DrawnLink& l) { return source.center(l.column); }, feet);
  for (size_t i = 0; i < links.size(); ++i) {
    const Point from{tops[i], source.edge + 3}, to{feet[i], target.edge};
    Xml& xml = canvas.xml();
    xml.open("path").set("class", "link").set("d", ribbon_down(from, to, std::max(0.3, links[i].weight * unit)));
    xml.set("fill-opacity", 0.25 + 0.4 * std::clamp(links[i].weight, 0.0, 1.0));
    xml.set("data-row", static_cast<double>(links[i].row))
        .set("data-column", static_cast<double>(links[i].column))
        .leaf();
  }
  draw_side(canvas, source, "column");
  draw_side(canvas, target, "row");
  const double bottom = target.y + target.sentence.line() + 18;
  canvas.text(grid.row_name, {.x = kMargin, .y = bottom, .size = 12, .css_class = "faint"});
  canvas.reach(kMargin + width, bottom);
  return bottom + 34;
}

}  // namespace

std::string draw_flow(const Grid& grid, const PictureStyle& style, Medium medium) {
  check_grid(grid, "flow");
  Canvas canvas(WeightScale(style, grid), medium);
  const PrunedLinks pruned = prune_links(grid, style.hide);
  double y = canvas.title(grid.title);
  if (!canvas.page()) {
    const std::string statement = "ribbons are as thick as weights; the picture " + pruned.statement();
    canvas.text(statement, {.x = kMargin, .y = y + 10, .size = 12, .css_class = "faint"});
    canvas.reach(kMargin + ems(statement) * 12, y + 10);
    y += 32;
  }
  y = draw_ribbons(canvas, y, grid, pruned);
  draw_transport(canvas, y, grid);
  return canvas.finish(grid.title);
}

std::string flow_svg(const Grid& grid, const PictureStyle& style) { return draw_flow(grid, style, {}); }

}  // namespace fovea
