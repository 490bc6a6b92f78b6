// How a weight is drawn: a colour, or the height of a block, or a character of a ramp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "view/terminal_page.h"
#include "view/text_width.h"

namespace fovea {

namespace {

constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> kRamp = {" ", ":", "-", "=", "+", "*", "#", "%", "@"};

Rgb weight_colour(const PictureStyle& picture, double weight) { return colour_at(picture, on_scale(picture, weight)); }

// For terminals without colours.
std::string shade(const TerminalPage& page, double share) {
  const auto level = static_cast<size_t>(std::lround(8.0 * std::clamp(share, 0.0, 1.0)));
  return page.glyph(kBlocks[level], kRamp[level]);
}

// The weight at a place of the scale: on_scale turned round.
double weight_at(const PictureStyle& picture, double share) {
  double low = 0, high = 1;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (on_scale(picture, middle) < share ? low : high) = middle;
  }
  return high;
}

}  // namespace

void draw_cell(TerminalPage& page, const PictureStyle& picture, float weight, bool chosen, int64_t columns) {
  if (is_absent(weight)) {
    page.write(pad_right(page.glyph("·", "."), columns), {.faint = true});
  } else if (chosen) {
    const Rgb colour = weight_colour(picture, weight);
    page.write(columns > 1 ? "[]" : "X", {.text = ink_on(colour), .ground = colour});
  } else if (page.coloured()) {
    page.write(std::string(static_cast<size_t>(columns), ' '), {.ground = weight_colour(picture, weight)});
  } else {
    for (int64_t i = 0; i < columns; ++i) page.write(shade(page, on_scale(picture, weight)));
  }
}

void draw_halves(TerminalPage& page, const PictureStyle& picture, float above, float below) {
  if (is_absent(above) && is_absent(below)) {
    page.write(" ");
  } else if (is_absent(above)) {
    page.write("▄", {.text = weight_colour(picture, below)});
  } else if (is_absent(below)) {
    page.write("▀", {.text = weight_colour(picture, above)});
  } else {
    page.write("▀", {.text = weight_colour(picture, above), .ground = weight_colour(picture, below)});
  }
}

Ink word_ink(const TerminalPage& page, const PictureStyle& picture, float weight) {
  if (!page.coloured()) return {};
  if (is_absent(weight)) return {.faint = true};
  const Rgb colour = weight_colour(picture, weight);
  return {.text = ink_on(colour), .ground = colour};
}

void draw_scale(TerminalPage& page, const PictureStyle& picture, std::string_view absent) {
  // Parts with a number below each end; a part is wider than a number.
  const int64_t parts = page.width() < 30 ? 2 : 4, part = 6;
  for (int64_t i = 0; i <= parts * part; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(parts * part);
    if (page.coloured())
      page.write(" ", {.ground = colour_at(picture, share)});
    else
      page.write(shade(page, share));
  }
  if (!absent.empty()) page.flow(fmt::format("   {}", absent), {.faint = true});
  page.end_line();
  // A log scale does not tell little from nothing.
  constexpr double kLittle = 1e-3;
  page.write(on_scale(picture, kLittle) > 0 ? "0" : page.glyph("≤.001", "<.001"));
  for (int64_t i = 1; i <= parts; ++i) {
    const double weight = weight_at(picture, static_cast<double>(i) / static_cast<double>(parts));
    const std::string number = fmt::format("{:.2g}", weight);
    page.move_to(i * part);
    page.write(number.starts_with("0.") ? number.substr(1) : number);
  }
  if (picture.scale != "linear") page.flow(fmt::format("   {} scale", picture.scale), {.faint = true});
  page.end_line();
}

}  // namespace fovea
