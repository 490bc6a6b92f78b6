// The flow of attention: ribbons from the sentence that is looked at down to the words that look, and below it how
// attention moves over that sentence from word to word. What is hidden is stated.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "view/links.h"
#include "view/svg.h"
#include "view/svg_film.h"
#include "view/svg_text.h"
#include "view/svg_views.h"
#include "view/svg_words.h"

namespace fovea {

namespace {

struct Point {
  double x, y;
};

// A band of one thickness from `a` to `b`, its first edge; bent so that it leaves and arrives straight.
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

// One of the two sentences: its words and, at their edge, a bar as long as their attention, where ribbons begin.
struct Shore {
  Sentence sentence;
  std::vector<double> lengths;  // of the bars
  std::vector<double> taken;    // from each bar's left, by ribbons
  double x = 0, y = 0;          // of the sentence
  double edge = 0;              // the bars' y

  Shore(const std::vector<Label>& labels, std::vector<double> bars) : lengths(std::move(bars)), taken(lengths.size()) {
    std::vector<double> least;
    for (const double length : lengths) least.push_back(length + 6);
    sentence = lay_out(labels, {.least_widths = least});
  }
  double center(int64_t i) const {
    const Word& word = sentence.words[static_cast<size_t>(i)];
    return x + word.x + word.width / 2;
  }
  double take(int64_t i, double thick) {
    const auto at = static_cast<size_t>(i);
    return center(i) - lengths[at] / 2 + std::exchange(taken[at], taken[at] + thick);
  }
};

void draw_shore(Canvas& canvas, const Shore& shore, std::string_view side) {
  for (size_t i = 0; i < shore.sentence.words.size(); ++i) {
    Xml& xml = canvas.xml();
    xml.open("g").set("class", "word").set("data-side", side).set("data-index", static_cast<double>(i));
    if (canvas.page()) {
      xml.set("tabindex", "0").set("role", "button");
      xml.set("aria-label", fmt::format("{} {}: {}", side, i + 1, shown(shore.sentence.labels[i])));
    }
    const Word& word = shore.sentence.words[i];
    xml.open("rect").set("class", "target").set("x", shore.x + word.x).set("y", shore.y + word.y).set("rx", 3);
    xml.set("width", word.width).set("height", shore.sentence.line()).set("fill", "transparent").leaf();
    draw_word(canvas, shore.sentence, i, {.x = shore.x, .y = shore.y});
    xml.open("rect").set("class", "mass").set("x", shore.center(static_cast<int64_t>(i)) - shore.lengths[i] / 2);
    xml.set("y", shore.edge).set("width", std::max(0.5, shore.lengths[i])).set("height", 3).leaf();
    xml.close();
  }
}

double draw_ribbons(Canvas& canvas, double y, const Grid& grid, const PrunedLinks& cut) {
  const double unit = std::clamp(420.0 / static_cast<double>(grid.height()), 3.0, 20.0);  // of a weight of 1
  const auto bars = [&](bool of_rows) {
    std::vector<double> lengths = totals(grid, of_rows);
    for (double& length : lengths) length *= unit;
    return lengths;
  };
  Shore source(grid.columns, bars(false)), target(grid.rows, bars(true));
  const double width = std::max(source.sentence.width, target.sentence.width);
  const double drop = std::clamp(width / 4, 110.0, 260.0);
  source.x = kMargin + (width - source.sentence.width) / 2;
  target.x = kMargin + (width - target.sentence.width) / 2;
  source.y = y + 18;
  source.edge = source.y + source.sentence.line() + 4;
  target.edge = source.edge + 3 + drop;
  target.y = target.edge + 3 + 4;
  canvas.text(grid.column_name, {.x = kMargin, .y = y + 10, .size = 12, .look = "faint"});

  // At each end ribbons lie in the order of where they come from, so that those of a word do not cross.
  std::vector<DrawnLink> links = cut.drawn;
  std::vector<double> tops(links.size()), feet(links.size());
  const auto place = [&](Shore& shore, auto own, auto other, std::vector<double>& to) {
    std::vector<size_t> order(links.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return other(links[a]) < other(links[b]); });
    for (const size_t i : order) to[i] = shore.take(own(links[i]), links[i].weight * unit);
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
  draw_shore(canvas, source, "column");
  draw_shore(canvas, target, "row");
  const double bottom = target.y + target.sentence.line() + 18;
  canvas.text(grid.row_name, {.x = kMargin, .y = bottom, .size = 12, .look = "faint"});
  canvas.reach(kMargin + width, bottom);
  return bottom + 34;
}

}  // namespace

std::string draw_flow(const Grid& grid, const PictureStyle& style, Medium medium) {
  check_grid(grid, "flow");
  Canvas canvas(WeightScale(style, grid), medium);
  const PrunedLinks cut = prune_links(grid, style.hide);
  double y = canvas.title(grid.title);
  if (!canvas.page()) {
    const std::string statement = "ribbons are as thick as weights; the picture " + cut.statement();
    canvas.text(statement, {.x = kMargin, .y = y + 10, .size = 12, .look = "faint"});
    canvas.reach(kMargin + ems(statement) * 12, y + 10);
    y += 32;
  }
  y = draw_ribbons(canvas, y, grid, cut);
  draw_film(canvas, y, grid);
  return canvas.finish(grid.title);
}

std::string flow_svg(const Grid& grid, const PictureStyle& style) { return draw_flow(grid, style, {}); }

}  // namespace fovea
