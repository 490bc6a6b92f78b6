// Prints the heat map in a terminal. A cell is two columns wide and one line high, which is a square; in a grid of many
// rows it is half a line high. A grid that is wider than the terminal is split into blocks of columns. A cell is one
// column wide only if there would be many blocks, because vertical labels are easier to read with gaps between them.
#include <fmt/format.h>

#include <algorithm>

#include "view/terminal_page.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

constexpr int64_t kManyRows = 40;         // from here on two rows share a line
constexpr int64_t kMaxBlocks = 4;         // of cells two columns wide
constexpr int64_t kShortLabel = 3;        // labels of so few characters are written downwards
constexpr int64_t kHighestLabel = 10;     // characters of a label that is written downwards
constexpr int64_t kLongestRowLabel = 24;  // columns of a row's label, and never more than a quarter of the terminal

struct Layout {
  int64_t cell = 2;     // columns of a cell
  bool halves = false;  // two rows a line
  bool stairs = false;  // labels of columns one below the other, with a stem down to each column
  int64_t row_label = 0;
  int64_t left = 0;   // columns before the first cell
  int64_t block = 0;  // cells beside one another
};

class Heatmap {
 public:
  Heatmap(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal)
      : grid_(grid),
        scale_(picture, grid),
        page_(terminal),
        rows_(label_texts(page_, grid.rows)),
        columns_(label_texts(page_, grid.columns)) {
    choose_layout();
  }

  std::string text() {
    page_.prose(page_.safe(grid_.title), {.bold = true});
    page_.prose(fmt::format("{} in rows, {} in columns{}", page_.safe(grid_.row_name), page_.safe(grid_.column_name),
                            layout_.halves ? "; two rows a line: the upper is named left, the lower right" : ""),
                {.faint = true});
    for (int64_t first = 0; first < grid_.width(); first += layout_.block) {
      const int64_t end = std::min(first + layout_.block, grid_.width());
      page_.end_line();
      if (layout_.block < grid_.width())
        page_.prose(fmt::format("columns {} to {} of {}", first + 1, end, grid_.width()), {.faint = true});
      draw_header(first, end);
      draw_rows(first, end);
    }
    page_.end_line();
    const bool absent = std::any_of(grid_.weights.begin(), grid_.weights.end(), is_absent);
    draw_scale(page_, scale_, !absent ? "" : layout_.halves ? kTintMasked : page_.glyph("·: masked", ".: masked"));
    if (grid_.hard) page_.prose(layout_.halves ? "one cell a row was chosen" : chosen_legend(), {.faint = true});
    for (const auto& [shown, full] : cut_) page_.prose(fmt::format("{} = {}", shown, full), {.faint = true});
    return page_.take();
  }

 private:
  std::string chosen_legend() const {
    return fmt::format("{}: the cell that was chosen", layout_.cell > 1 ? "[]" : "X");
  }

  static int64_t widest(const std::vector<std::string>& texts) {
    int64_t most = 0;
    for (const std::string& text : texts) most = std::max(most, display_width(text));
    return most;
  }

  void choose_layout() {
    Layout& l = layout_;
    const int64_t n = grid_.width();
    l.row_label = std::min({widest(rows_), kLongestRowLabel, page_.width() / 4});
    l.left = l.row_label + 1;
    const int64_t edge = page_.coloured() ? 0 : 1;  // a line at the end of the cells
    const int64_t room = page_.width() - l.left - edge;
    int64_t most_characters = 0;  // of a label that is no mark
    bool wide_characters = false;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::vector<std::string> parts = clusters(columns_[i]);
      if (!grid_.columns[i].mark) most_characters = std::max(most_characters, static_cast<int64_t>(parts.size()));
      for (const std::string& part : parts) wide_characters |= display_width(part) > 1;
    }
    l.block = n;
    if (2 * n <= room) {
      l.stairs = most_characters > kShortLabel && stairs_fit();
      return;
    }
    l.halves = grid_.height() > kManyRows && page_.coloured() && page_.terminal().unicode;
    const auto blocks = [&](int64_t cell) {
      const int64_t cells = (room - (l.halves ? l.left : 0)) / cell;
      return (n + cells - 1) / cells;
    };
    l.cell = wide_characters || blocks(2) <= kMaxBlocks ? 2 : 1;
    l.block = (n + blocks(l.cell) - 1) / blocks(l.cell);
  }

  bool stairs_fit() const {
    for (int64_t i = 0; i < grid_.width(); ++i) {
      const int64_t begin = layout_.left + 2 * i + 2;
      if (begin + display_width(columns_[static_cast<size_t>(i)]) > page_.width()) return false;
    }
    return true;
  }

  std::string fenced(const std::string& text) const { return page_.terminal().unicode ? isolate(text) : text; }

  // Prints one label a line, each above the stems of the labels before it.
  void draw_stairs(int64_t first, int64_t end) {
    for (int64_t i = first; i < end; ++i) {
      page_.move_to(layout_.left);
      for (int64_t stem = first; stem < i; ++stem) page_.write(page_.glyph("│ ", "| "), {.faint = true});
      page_.write(page_.glyph("┌ ", "+ "), {.faint = true});
      page_.write(fenced(columns_[static_cast<size_t>(i)]));
      page_.end_line();
    }
  }

  // Prints labels downwards, one character a line, so that they end at the cells.
  void draw_downwards(int64_t first, int64_t end) {
    std::vector<std::vector<std::string>> labels;
    size_t height = 0;
    for (int64_t i = first; i < end; ++i) {
      const std::string& full = columns_[static_cast<size_t>(i)];
      std::vector<std::string> label = clusters(full);
      if (static_cast<int64_t>(label.size()) > kHighestLabel) {
        label.resize(kHighestLabel - 1);
        label.emplace_back(page_.glyph("…", "~"));
        note_cut(fmt::format("{}", fmt::join(label, "")), full);
      }
      height = std::max(height, label.size());
      labels.push_back(std::move(label));
    }
    for (size_t line = 0; line < height; ++line) {
      page_.move_to(layout_.left);
      for (const auto& label : labels) {
        const size_t above = height - label.size();
        const std::string part = line < above ? "" : label[line - above];
        page_.write(pad_right(fenced(part), layout_.cell));
      }
      page_.end_line();
    }
  }

  void draw_header(int64_t first, int64_t end) {
    if (layout_.stairs)
      draw_stairs(first, end);
    else
      draw_downwards(first, end);
  }

  void draw_rows(int64_t first, int64_t end) {
    for (int64_t row = 0; row < grid_.height(); row += layout_.halves ? 2 : 1) {
      page_.write(row_label(row));
      page_.write(page_.coloured() ? " " : page_.glyph("│", "|"));
      const bool second = layout_.halves && row + 1 < grid_.height();
      for (int64_t column = first; column < end; ++column) {
        const float weight = grid_.at(row, column);
        if (layout_.halves)
          draw_halves(page_, scale_, weight, second ? std::optional(grid_.at(row + 1, column)) : std::nullopt,
                      layout_.cell);
        else
          draw_cell(page_, scale_, weight, grid_.hard && weight > 0.5F, layout_.cell);
      }
      if (second) page_.write(" " + right_label(row + 1));
      if (!page_.coloured()) page_.write(page_.glyph("│", "|"));
      page_.end_line();
    }
  }

  std::string row_label(int64_t row) {
    const std::string& full = rows_[static_cast<size_t>(row)];
    if (display_width(full) > layout_.row_label)
      note_cut(truncate_to_width(full, layout_.row_label, page_.glyph("…", "~")), full);
    return table_label(page_, full, layout_.row_label);
  }
  std::string right_label(int64_t row) {
    const std::string label = row_label(row);
    return label.substr(label.find_first_not_of(' '));
  }

  // Printed once under the picture.
  void note_cut(const std::string& shown, const std::string& full) {
    const std::pair<std::string, std::string> entry{shown, full};
    if (std::find(cut_.begin(), cut_.end(), entry) == cut_.end()) cut_.push_back(entry);
  }

  const Grid& grid_;
  WeightScale scale_;
  TerminalPage page_;
  std::vector<std::string> rows_, columns_;
  std::vector<std::pair<std::string, std::string>> cut_;
  Layout layout_;
};

}  // namespace

std::string heatmap_text(const Grid& grid, const PictureStyle& picture, const TerminalStyle& terminal) {
  check_grid("heat map", grid, terminal);
  return Heatmap(grid, picture, terminal).text();
}

}  // namespace fovea
