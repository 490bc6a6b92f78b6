// Prints many small maps side by side: all heads of a model at a glance.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "view/terminal_page.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

constexpr int64_t kLargest = 24;  // rows or columns of a small map
constexpr int64_t kGap = 2;       // columns between maps

std::vector<std::string> split_title(const std::string& title) {
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at; (at = title.find(", ", begin)) != std::string::npos; begin = at + 2)
    parts.push_back(title.substr(begin, at - begin));
  parts.push_back(title.substr(begin));
  return parts;
}

std::string join(const std::vector<std::string>& parts) { return fmt::format("{}", fmt::join(parts, ", ")); }

// Removes the parts that all titles have in common and returns them: "layer 2" of "layer 2, head 1" and
// "layer 2, head 2". At least one part of every title remains.
std::string take_shared(std::span<std::vector<std::string>> titles) {
  std::vector<std::string> shared;
  for (size_t i = 0; i < titles.front().size() && titles.front().size() > 1;) {
    const std::string part = titles.front()[i];
    const bool in_all = std::all_of(titles.begin(), titles.end(), [&](const auto& title) {
      return title.size() > 1 && std::find(title.begin(), title.end(), part) != title.end();
    });
    if (!in_all) {
      ++i;
      continue;
    }
    shared.push_back(part);
    for (auto& title : titles) title.erase(std::find(title.begin(), title.end(), part));
  }
  return join(shared);
}

// A grid of the largest weight of each square of `factor` x `factor` cells; absent where all cells are.
Grid shrunk(const Grid& grid, int64_t factor) {
  const int64_t height = (grid.height() + factor - 1) / factor, width = (grid.width() + factor - 1) / factor;
  Grid small;
  small.hard = grid.hard;
  small.rows.resize(static_cast<size_t>(height));
  small.columns.resize(static_cast<size_t>(width));
  small.weights.assign(static_cast<size_t>(height * width), kAbsent);
  for (int64_t row = 0; row < grid.height(); ++row) {
    for (int64_t column = 0; column < grid.width(); ++column) {
      float& most = small.at(row / factor, column / factor);
      const float weight = grid.at(row, column);
      if (!is_absent(weight) && (is_absent(most) || weight > most)) most = weight;
    }
  }
  return small;
}

class Heads {
 public:
  Heads(std::span<const Grid> grids, int columns, const PictureStyle& picture, const TerminalStyle& terminal)
      : scale_(picture, grids), page_(terminal), columns_(columns) {
    halves_ = page_.coloured() && terminal.unicode;
    const int64_t room = std::min<int64_t>(kLargest, terminal.width);
    for (const Grid& grid : grids) {
      check_grid("heads", grid, terminal);
      factor_ = std::max(factor_, (std::max(grid.height(), grid.width()) + room - 1) / room);
      titles_.push_back(split_title(page_.safe(grid.title)));
    }
    for (const Grid& grid : grids) {
      small_.push_back(shrunk(grid, factor_));
      absent_ |= std::any_of(grid.weights.begin(), grid.weights.end(), is_absent);
    }
  }

  std::string text() {
    page_.prose(take_shared(titles_), {.bold = true});
    if (factor_ > 1) {
      page_.prose(fmt::format("drawn {} times smaller: each cell is the largest of {} by {} weights", factor_, factor_,
                              factor_),
                  {.faint = true});
    }
    for (size_t first = 0; first < small_.size(); first += static_cast<size_t>(columns_)) {
      page_.end_line();
      draw_group(first, std::min(first + static_cast<size_t>(columns_), small_.size()));
    }
    page_.end_line();
    draw_scale(page_, scale_, !absent_ ? "" : halves_ ? kTintMasked : page_.glyph("·: masked", ".: masked"));
    return page_.take();
  }

 private:
  // Prints the maps of one layer, in as many lines of maps as they need.
  void draw_group(size_t first, size_t end) {
    const std::span<std::vector<std::string>> titles(titles_.data() + first, end - first);
    const std::string shared = titles.size() > 1 ? take_shared(titles) : "";
    if (!shared.empty()) page_.prose(shared);
    int64_t slot = 1;
    for (size_t i = first; i < end; ++i)
      slot = std::max({slot, small_[i].width(), std::min(display_width(join(titles_[i])), page_.width())});
    const auto fit = std::max<size_t>(1, static_cast<size_t>((page_.width() + kGap) / (slot + kGap)));
    const size_t lines = (end - first + fit - 1) / fit, each = (end - first + lines - 1) / lines;
    for (size_t i = first; i < end; i += each) {
      if (i > first) page_.end_line();
      draw_line_of_maps(i, std::min(i + each, end), slot);
    }
  }

  void draw_line_of_maps(size_t first, size_t end, int64_t slot) {
    int64_t height = 0;
    for (size_t i = first; i < end; ++i) {
      height = std::max(height, small_[i].height());
      const std::string title = join(titles_[i]);
      if (end - first == 1) {
        page_.prose(title, {.faint = true});
        continue;
      }
      page_.move_to(static_cast<int64_t>(i - first) * (slot + kGap));
      page_.write(title, {.faint = true});
    }
    if (end - first > 1) page_.end_line();
    for (int64_t row = 0; row < height; row += halves_ ? 2 : 1) {
      for (size_t i = first; i < end; ++i) {
        page_.move_to(static_cast<int64_t>(i - first) * (slot + kGap));
        draw_row(small_[i], row);
      }
      page_.end_line();
    }
  }

  void draw_row(const Grid& grid, int64_t row) {
    if (row >= grid.height()) return;
    const bool second = row + 1 < grid.height();
    for (int64_t column = 0; column < grid.width(); ++column) {
      if (halves_)
        draw_halves(page_, scale_, grid.at(row, column),
                    second ? std::optional(grid.at(row + 1, column)) : std::nullopt, 1);
      else
        draw_cell(page_, scale_, grid.at(row, column), false, 1);
    }
  }

  WeightScale scale_;
  TerminalPage page_;
  int64_t columns_, factor_ = 1;
  bool halves_ = false, absent_ = false;
  std::vector<Grid> small_;
  std::vector<std::vector<std::string>> titles_;
};

}  // namespace

std::string heads_text(std::span<const Grid> grids, int columns, const PictureStyle& picture,
                       const TerminalStyle& terminal) {
  check(!grids.empty(), "heads: expected at least one grid, got none");
  check(columns > 0, "heads: expected at least one column, got {}", columns);
  return Heads(grids, columns, picture, terminal).text();
}

}  // namespace fovea
