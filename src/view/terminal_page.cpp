#include "view/terminal_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

// The nearest of the 6 x 6 x 6 colours and 24 greys that 256-colour terminals have after their first 16.
int nearest_256(Rgb colour) {
  constexpr std::array<int, 6> kLevels = {0, 95, 135, 175, 215, 255};
  const auto distance = [&](int red, int green, int blue) {
    const int r = red - colour.red, g = green - colour.green, b = blue - colour.blue;
    return r * r + g * g + b * b;
  };
  const auto level = [&](uint8_t value) {
    const auto nearer = [value](int a, int b) { return std::abs(a - value) < std::abs(b - value); };
    return static_cast<int>(std::min_element(kLevels.begin(), kLevels.end(), nearer) - kLevels.begin());
  };
  const int r = level(colour.red), g = level(colour.green), b = level(colour.blue);
  const auto at = [&](int i) { return kLevels[static_cast<size_t>(i)]; };
  const int grey = std::clamp((colour.red + colour.green + colour.blue - 24 + 15) / 30, 0, 23);
  const int value = 8 + 10 * grey;
  return distance(value, value, value) < distance(at(r), at(g), at(b)) ? 232 + grey : 16 + 36 * r + 6 * g + b;
}

std::string colour_code(const TerminalStyle& terminal, int kind, Rgb colour) {
  return terminal.colour == TerminalStyle::Colour::kTrue
             ? fmt::format(";{};2;{};{};{}", kind, colour.red, colour.green, colour.blue)
             : fmt::format(";{};5;{}", kind, nearest_256(colour));
}

}  // namespace

std::string TerminalPage::safe(std::string_view text) const { return harmless(text, !terminal_.unicode); }

void TerminalPage::set_ink(const Ink& ink) {
  std::string codes;
  if (coloured()) {
    if (ink.bold) codes += ";1";
    if (ink.faint) codes += ";2";
    if (ink.text) codes += colour_code(terminal_, 38, *ink.text);
    if (ink.ground) codes += colour_code(terminal_, 48, *ink.ground);
  }
  if (codes == active_) return;
  // Escape codes only add, so the previous ink is reset first.
  if (codes.empty() || !active_.empty()) text_ += "\033[0m";
  if (!codes.empty()) text_ += "\033[" + codes.substr(1) + "m";
  active_ = codes;
}

void TerminalPage::write(std::string_view text, const Ink& ink) {
  set_ink(ink);
  text_ += text;
  column_ += display_width(text);
}

void TerminalPage::move_to(int64_t column) {
  if (column > column_) write(std::string(static_cast<size_t>(column - column_), ' '));
}

void TerminalPage::end_line() {
  set_ink({});
  if (!sentence_.empty()) text_ += "\u2069";
  while (!text_.empty() && text_.back() == ' ') text_.pop_back();
  text_ += '\n';
  column_ = 0;
}

void TerminalPage::begin_next(int64_t indent) {
  end_line();
  move_to(indent);
  text_ += sentence_;
}

void TerminalPage::flow(std::string_view text, const Ink& ink, int64_t indent) {
  const int64_t wide = display_width(text);
  if (column_ + wide > width() && column_ > indent) begin_next(indent);
  if (column_ + wide <= width()) return write(text, ink);
  for (const std::string& cluster : clusters(text)) {
    if (column_ + display_width(cluster) > width()) begin_next(indent);
    write(cluster, ink);
  }
}

void TerminalPage::flow_word(std::string_view word, const Ink& ink, int64_t indent) {
  if (column_ > indent) {
    if (column_ + 1 + display_width(word) > width())
      begin_next(indent);
    else
      write(" ", ink.ground ? Ink{} : ink);
  }
  flow(word, ink, indent);
}

void TerminalPage::prose(std::string_view text, const Ink& ink, int64_t indent) {
  move_to(indent);
  while (!text.empty()) {
    const size_t space = std::min(text.find(' '), text.size());
    flow_word(text.substr(0, space), ink, indent);
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  end_line();
}

void TerminalPage::begin_sentence(bool right_to_left, bool has_rtl) {
  if (!terminal_.unicode || !has_rtl) return;
  sentence_ = right_to_left ? "\u2067" : "\u2066";
  text_ += sentence_;
}

void TerminalPage::end_sentence() {
  if (!sentence_.empty()) text_ += "\u2069";
  sentence_.clear();
}

std::string TerminalPage::take() { return std::move(text_); }

void check_grid(std::string_view picture, const Grid& grid, const TerminalStyle& terminal) {
  check(grid.height() > 0 && grid.width() > 0, "{}: expected a grid with cells, got {} rows and {} columns", picture,
        grid.height(), grid.width());
  check(grid.weights.size() == grid.rows.size() * grid.columns.size(), "{}: expected {} weights, got {}", picture,
        grid.rows.size() * grid.columns.size(), grid.weights.size());
  check(grid.notes.empty() || grid.notes.size() == grid.rows.size(), "{}: expected a note for each of {} rows, got {}",
        picture, grid.rows.size(), grid.notes.size());
  check(terminal.width >= TerminalStyle::kMinWidth, "{}: expected a terminal at least {} columns wide, got {}", picture,
        TerminalStyle::kMinWidth, terminal.width);
}

std::string label_text(const TerminalPage& page, const Label& label) {
  const bool blank = label.text.find_first_not_of(' ') == std::string::npos;
  if (!blank) return page.safe(label.text);
  if (label.text.empty() && label.mark) return "</s>";
  std::string shown;
  for (size_t i = 0; i < std::max<size_t>(1, label.text.size()); ++i) shown += page.glyph("␣", "_");
  return shown;
}

std::vector<std::string> label_texts(const TerminalPage& page, const std::vector<Label>& labels) {
  std::vector<std::string> texts;
  texts.reserve(labels.size());
  for (const Label& label : labels) texts.push_back(label_text(page, label));
  return texts;
}

std::string table_label(const TerminalPage& page, std::string_view text, int64_t width) {
  const std::string shortened = truncate_to_width(text, width, page.glyph("…", "~"));
  return pad_left(page.terminal().unicode ? isolate(shortened) : shortened, width);
}

std::string short_weight(double weight) {
  const std::string text = fmt::format("{:.2f}", weight);
  return text.starts_with("0.") ? text.substr(1) : text;
}

}  // namespace fovea
