// Draws weights: as a colour, as the height of a block, or as a character of a ramp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "view/terminal_page.h"
#include "view/terminal_text.h"

namespace fovea {

namespace {

constexpr std::array<const char*, 9> kBlocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<const char*, 9> kRamp = {" ", ":", "-", "=", "+", "*", "#", "%", "@"};

bool is_dark(const TerminalPage& page, const WeightScale& scale) {
  const std::string& background = scale.style().background;
  return background == "auto" ? page.terminal().dark : background == "dark";
}

Rgb masked_tint(const TerminalPage& page, const WeightScale& scale) {
  return is_dark(page, scale) ? Rgb{0x5f, 0x47, 0x2b} : Rgb{0xf0, 0xdc, 0xbe};
}

// Of the 256 colours only the greys have enough steps of lightness.
Rgb share_colour(const TerminalPage& page, const WeightScale& scale, double share) {
  const bool grey = page.terminal().colour == TerminalStyle::Colour::k256;
  const Paper paper = is_dark(page, scale) ? Paper::kDark : Paper::kLight;
  return colour_at(grey ? "greys" : scale.style().palette, share, paper);
}

// A weight on a terminal without colours.
std::string shade(const TerminalPage& page, double share) {
  const auto level = static_cast<size_t>(std::lround(8.0 * std::clamp(share, 0.0, 1.0)));
  return page.glyph(kBlocks[level], kRamp[level]);
}

}  // namespace

Rgb weight_colour(const TerminalPage& page, const WeightScale& scale, double weight) {
  return share_colour(page, scale, scale.share(weight));
}

void draw_cell(TerminalPage& page, const WeightScale& scale, float weight, bool chosen, int64_t columns) {
  if (is_absent(weight)) {
    page.write(pad_right(page.glyph("·", "."), columns), {.faint = true});
  } else if (chosen) {
    const Rgb colour = weight_colour(page, scale, weight);
    page.write(columns > 1 ? "[]" : "X", {.text = ink_on(colour), .ground = colour});
  } else if (page.coloured()) {
    page.write(std::string(static_cast<size_t>(columns), ' '), {.ground = weight_colour(page, scale, weight)});
  } else {
    for (int64_t i = 0; i < columns; ++i) page.write(shade(page, scale.share(weight)));
  }
}

void draw_halves(TerminalPage& page, const WeightScale& scale, float above, std::optional<float> below,
                 int64_t columns) {
  const auto colour = [&](float weight) {
    return is_absent(weight) ? masked_tint(page, scale) : weight_colour(page, scale, weight);
  };
  const Ink ink{.text = colour(above), .ground = below ? std::optional(colour(*below)) : std::nullopt};
  for (int64_t i = 0; i < columns; ++i) page.write("▀", ink);
}

Ink word_ink(const TerminalPage& page, const WeightScale& scale, float weight) {
  if (!page.coloured()) return {};
  if (is_absent(weight)) return {.faint = true};
  const Rgb colour = weight_colour(page, scale, weight);
  return {.text = ink_on(colour), .ground = colour};
}

void draw_scale(TerminalPage& page, const WeightScale& scale, std::string_view absent) {
  const int64_t steps = page.width() < 34 ? 12 : 24;
  for (int64_t i = 0; i <= steps; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(steps);
    if (page.coloured())
      page.write(" ", {.ground = share_colour(page, scale, share)});
    else
      page.write(shade(page, share));
  }
  if (absent == kTintMasked) {
    page.write("   ");
    page.write("  ", {.ground = masked_tint(page, scale)});
    page.flow(" masked", {.faint = true});
  } else if (!absent.empty()) {
    page.flow(fmt::format("   {}", absent), {.faint = true});
  }
  page.end_line();
  const auto number = [&](const Tick& tick) {
    std::string name = tick.name;
    if (name.starts_with("≤ ")) name = page.glyph("≤", "<") + name.substr(name.find(' ') + 1);
    const size_t zero = name.find("0.");
    return zero == std::string::npos ? name : name.erase(zero, 1);  // ".25"
  };
  for (const Tick& tick : scale.ticks(6.0 / static_cast<double>(steps))) {
    const int64_t at = std::lround(tick.share * static_cast<double>(steps));
    if (at > 0 && page.column() >= at) continue;  // the number before it leaves no room
    page.move_to(at);
    page.write(number(tick));
  }
  const std::string& how = scale.style().scale;
  page.flow(how == "linear" ? "   weight" : fmt::format("   weight, {} scale", how), {.faint = true});
  page.end_line();
}

}  // namespace fovea
