// Draws training curves in a terminal: with braille dots, two across and four down in each character, if colours tell
// the curves apart or there is only one; else with a letter for each curve.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "text/utf8.h"
#include "view/curves.h"
#include "view/terminal_page.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

constexpr int64_t kAxis = 8;     // columns for the numbers of the vertical axis
constexpr int64_t kHeight = 12;  // lines of a panel

// Two colours for each run, readable on dark and light backgrounds: for validation, and a paler one for training.
constexpr std::array<Rgb, 5> kStrong = {{{0, 135, 215}, {215, 95, 0}, {0, 155, 105}, {175, 95, 175}, {175, 135, 0}}};
constexpr std::array<Rgb, 5> kPale = {
    {{115, 175, 215}, {225, 155, 115}, {110, 185, 160}, {195, 155, 195}, {195, 175, 95}}};
constexpr std::string_view kLetters = "*o+x#@%&=~";

// A canvas of characters, each with the number of the curve that was drawn there last.
class Canvas {
 public:
  Canvas(int64_t columns, int64_t lines, bool braille) : columns_(columns), lines_(lines), braille_(braille) {
    dots_.resize(static_cast<size_t>(columns * lines));
    curves_.resize(dots_.size(), -1);
    marked_.resize(dots_.size());
  }

  // x and y are from 0 to 1; y points up.
  void line(double x0, double y0, double x1, double y1, int curve) {
    const double steps = std::max({1.0, std::abs(x1 - x0) * dots_across(), std::abs(y1 - y0) * dots_up()});
    for (double i = 0; i <= std::ceil(steps); ++i) {
      const double part = i / std::ceil(steps);
      dot(x0 + part * (x1 - x0), y0 + part * (y1 - y0), curve);
    }
  }
  void dot(double x, double y, int curve) {
    const auto across = std::lround(x * dots_across()), down = std::lround((1 - y) * dots_up());
    const auto cell = static_cast<size_t>((braille_ ? down / 4 : down) * columns_ + (braille_ ? across / 2 : across));
    // The bits of a braille character, by row and column.
    constexpr int kBits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    dots_[cell] |= braille_ ? kBits[down % 4][across % 2] : 1;
    curves_[cell] = curve;
  }
  void mark(double x, double y, int curve) {
    dot(x, y, curve);
    const auto column = std::lround(x * dots_across()) / (braille_ ? 2 : 1);
    const auto line = std::lround((1 - y) * dots_up()) / (braille_ ? 4 : 1);
    marked_[static_cast<size_t>(line * columns_ + column)] = true;
  }

  int curve_at(int64_t line, int64_t column) const { return curves_[index(line, column)]; }
  bool marked_at(int64_t line, int64_t column) const { return marked_[index(line, column)]; }
  std::string braille_at(int64_t line, int64_t column) const {
    std::string text;
    append_code_point(text, 0x2800 + static_cast<char32_t>(dots_[index(line, column)]));
    return text;
  }

 private:
  size_t index(int64_t line, int64_t column) const { return static_cast<size_t>(line * columns_ + column); }
  double dots_across() const { return static_cast<double>(columns_ * (braille_ ? 2 : 1) - 1); }
  double dots_up() const { return static_cast<double>(lines_ * (braille_ ? 4 : 1) - 1); }

  int64_t columns_, lines_;
  bool braille_;
  std::vector<int> dots_, curves_;
  std::vector<bool> marked_;
};

class Panel {
 public:
  Panel(TerminalPage& page, const CurvePanel& panel)
      : page_(page),
        panel_(panel),
        columns_(page.width() - kAxis - 1),
        braille_(page.terminal().unicode && (page.coloured() || panel.curves.size() == 1)),
        canvas_(columns_, kHeight, braille_) {
    // Validation curves are drawn after, and thus above, training curves.
    for (const bool marked : {false, true}) {
      for (size_t i = 0; i < panel.curves.size(); ++i) {
        if (panel.curves[i].marked == marked) draw_curve(panel.curves[i], static_cast<int>(i));
      }
    }
  }

  void draw() {
    page_.prose(panel_.title + (panel_.logarithmic ? " (logarithmic scale)" : ""), {.bold = true});
    for (size_t i = 0; i < panel_.curves.size(); ++i) draw_legend(i);
    draw_lines();
    draw_step_axis();
  }

 private:
  void draw_curve(const PanelCurve& curve, int number) {
    const CurvePoint* before = nullptr;
    for (const CurvePoint& point : *curve.points) {
      const bool there = std::isfinite(point.value);
      if (there) {
        const double x = panel_.across(point.step), y = panel_.up(point.value);
        if (before)
          canvas_.line(panel_.across(before->step), panel_.up(before->value), x, y, number);
        else
          canvas_.dot(x, y, number);
      }
      before = there ? &point : nullptr;
    }
    if (!curve.marked) return;
    for (const CurvePoint& point : *curve.points) {
      if (std::isfinite(point.value)) canvas_.mark(panel_.across(point.step), panel_.up(point.value), number);
    }
  }

  Ink ink(size_t curve) const {
    const auto& colours = panel_.curves[curve].marked ? kStrong : kPale;
    return {.text = colours[panel_.curves[curve].run % colours.size()]};
  }

  std::string letter(size_t curve) const { return std::string(1, kLetters[curve % kLetters.size()]); }

  void draw_legend(size_t i) {
    const PanelCurve& curve = panel_.curves[i];
    page_.write("  ");
    page_.write(!braille_ ? letter(i) + letter(i) : curve.marked ? "⠤●" : "⠤⠤", ink(i));
    const auto last = std::find_if(curve.points->rbegin(), curve.points->rend(),
                                   [](const CurvePoint& point) { return std::isfinite(point.value); });
    const std::string value =
        last == curve.points->rend() ? "" : fmt::format(": {:.4g} at step {}", last->value, last->step);
    page_.prose(fmt::format("{}{}", page_.safe(curve.name), value), {}, 5);
  }

  void draw_lines() {
    std::vector<std::string> numbers(static_cast<size_t>(kHeight));
    for (const double tick : panel_.value_ticks(kHeight / 2)) {
      const auto line = std::lround((1 - panel_.up(tick)) * static_cast<double>(kHeight - 1));
      numbers[static_cast<size_t>(line)] = tick_text(tick);
    }
    for (int64_t line = 0; line < kHeight; ++line) {
      const std::string& number = numbers[static_cast<size_t>(line)];
      page_.write(pad_left(number, kAxis - 1), {.faint = true});
      page_.write(number.empty() ? page_.glyph(" │", " |") : page_.glyph(" ┤", " +"), {.faint = true});
      for (int64_t column = 0; column < columns_; ++column) draw_character(line, column);
      page_.end_line();
    }
  }

  void draw_character(int64_t line, int64_t column) {
    const int curve = canvas_.curve_at(line, column);
    if (curve < 0) return page_.write(" ");
    const auto number = static_cast<size_t>(curve);
    if (!braille_)
      page_.write(letter(number), ink(number));
    else if (canvas_.marked_at(line, column))
      page_.write("●", ink(number));
    else
      page_.write(canvas_.braille_at(line, column), ink(number));
  }

  void draw_step_axis() {
    std::string axis(static_cast<size_t>(columns_), '-');
    std::vector<std::pair<int64_t, std::string>> numbers;
    for (const double tick : panel_.step_ticks(static_cast<int>(std::max<int64_t>(2, columns_ / 12))))
      numbers.emplace_back(std::lround(panel_.across(tick) * static_cast<double>(columns_ - 1)), tick_text(tick));
    for (const auto& [at, number] : numbers) axis[static_cast<size_t>(at)] = '+';
    page_.move_to(kAxis);
    page_.write(page_.glyph("└", "+"), {.faint = true});
    for (const char c : axis) page_.write(c == '-' ? page_.glyph("─", "-") : page_.glyph("┬", "+"), {.faint = true});
    page_.end_line();
    page_.write(pad_left("step", kAxis), {.faint = true});
    for (const auto& [at, number] : numbers) {
      const auto length = static_cast<int64_t>(number.size());
      const int64_t begin = std::min(kAxis + 1 + at - length / 2, page_.width() - length);
      if (begin <= page_.column()) continue;
      page_.move_to(begin);
      page_.write(number, {.faint = true});
    }
    page_.end_line();
  }

  TerminalPage& page_;
  const CurvePanel& panel_;
  int64_t columns_;
  bool braille_;
  Canvas canvas_;
};

}  // namespace

std::string curves_text(std::span<const RunCurves> runs, const TerminalStyle& terminal) {
  check(terminal.width >= TerminalStyle::kMinWidth, "curves: expected a terminal at least {} columns wide, got {}",
        TerminalStyle::kMinWidth, terminal.width);
  TerminalPage page(terminal);
  bool first = true;
  for (const CurvePanel& panel : curve_panels(runs)) {
    if (!first) page.end_line();
    first = false;
    CurvePanel safe = panel;
    safe.title = page.safe(panel.title);
    Panel(page, safe).draw();
  }
  return page.take();
}

}  // namespace fovea
