// Prints each row's attention as links: its columns with bars, strongest first.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "view/links.h"
#include "view/terminal_page.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

constexpr int64_t kLongestBar = 10;   // columns of the bar of a link with all of a row's attention
constexpr int64_t kLongestHead = 24;  // columns of a row's label

std::string bar(const TerminalPage& page, double share) {
  constexpr std::array<const char*, 8> kParts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double length = std::clamp(share, 0.0, 1.0) * kLongestBar;
  std::string text;
  if (!page.terminal().unicode) {
    text.assign(static_cast<size_t>(std::max(1L, std::lround(length))), '#');
    return text;
  }
  const int64_t eighths = std::max<int64_t>(1, std::lround(8 * length));
  for (int64_t i = 0; i < eighths / 8; ++i) text += "█";
  return text + kParts[static_cast<size_t>(eighths % 8)];
}

class Flow {
 public:
  Flow(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal)
      : grid_(grid),
        hide_(picture.hide),
        scale_({.palette = picture.palette, .background = picture.background, .max_weight = 1}, grid),
        page_(terminal),
        rows_(label_texts(page_, grid.rows)),
        columns_(label_texts(page_, grid.columns)) {
    for (const std::string& row : rows_) head_ = std::max(head_, display_width(row));
    head_ = std::min({head_, kLongestHead, page_.width() / 3});
  }

  std::string text() {
    page_.prose(page_.safe(grid_.title), {.bold = true});
    page_.prose(
        fmt::format("{} {} {}", page_.safe(grid_.row_name), page_.glyph("→", "->"), page_.safe(grid_.column_name)),
        {.faint = true});
    page_.end_line();
    const PrunedLinks pruned = prune_links(grid_, hide_);
    auto first = pruned.drawn.begin();
    for (int64_t row = 0; row < grid_.height(); ++row) {
      const auto end = std::find_if(first, pruned.drawn.end(), [row](const DrawnLink& link) { return link.row > row; });
      std::vector<DrawnLink> links(first, end);
      std::stable_sort(links.begin(), links.end(),
                       [](const DrawnLink& a, const DrawnLink& b) { return a.weight > b.weight; });
      draw_row(row, links);
      first = end;
    }
    page_.end_line();
    page_.prose(pruned.statement(), {.faint = true});
    return page_.take();
  }

 private:
  void draw_row(int64_t row, const std::vector<DrawnLink>& links) {
    const std::string& label = rows_[static_cast<size_t>(row)];
    if (display_width(label) > head_) {
      page_.prose(label, {.bold = true});
      page_.move_to(head_);
    } else {
      page_.write(table_label(page_, label, head_), {.bold = true});
    }
    page_.write(page_.glyph(" → ", " ->"), {.faint = true});
    const int64_t indent = page_.column();
    if (links.empty()) page_.flow(" nothing", {.faint = true}, indent);
    for (const DrawnLink& link : links) draw_link(link, indent);
    page_.end_line();
  }

  double row_total(int64_t row) const {
    double total = 0;
    for (int64_t column = 0; column < grid_.width(); ++column) {
      const float weight = grid_.at(row, column);
      if (weight > 0) total += static_cast<double>(weight);
    }
    return total;
  }

  // Prints a word, its bar and its share, on one line if any line has room for them.
  void draw_link(const DrawnLink& link, int64_t indent) {
    const double share = link.weight / row_total(link.row);
    const std::string& word = columns_[static_cast<size_t>(link.column)];
    const std::string shape = bar(page_, share);
    const std::string percent = fmt::format("{:.0f}%", 100 * share);
    const int64_t wide = display_width(word) + 1 + display_width(shape) + 1 + display_width(percent);
    if (page_.column() > indent) {
      const bool fits = page_.column() + 2 + wide <= page_.width();
      if (fits)
        page_.write("  ");
      else
        page_.end_line(), page_.move_to(indent);
    }
    page_.flow(page_.terminal().unicode ? isolate(word) : word, {}, indent);
    page_.flow(" ", {}, indent);
    const Rgb colour = weight_colour(page_, scale_, 0.35 + 0.65 * share);
    page_.flow(shape, {.text = colour}, indent);
    page_.flow(" " + percent, {.faint = true}, indent);
  }

  const Grid& grid_;
  double hide_;
  WeightScale scale_;  // for shares of a row's attention
  TerminalPage page_;
  std::vector<std::string> rows_, columns_;
  int64_t head_ = 0;
};

}  // namespace

std::string flow_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal) {
  check_grid("flow", grid, terminal);
  return Flow(grid, picture, terminal).text();
}

}  // namespace fovea
