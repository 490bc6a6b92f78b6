#include "view/svg_canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "view/svg_text.h"

namespace fovea {

namespace {

// A class of the style sheet. Readers that know no media queries draw the light colour.
struct PaintClass {
  std::string_view name, property, light, dark;
};
constexpr PaintClass kPaintClasses[] = {
    {"paper", "fill", "#ffffff", "#14171c"},  {"ink", "fill", "#1b1f24", "#e6e9ed"},
    {"faint", "fill", "#66707b", "#98a2ad"},  {"on", "fill", "#000000", "#000000"},
    {"rule", "stroke", "#cdd3da", "#3a414b"}, {"mass", "fill", "#aeb7c2", "#55606e"},
    {"link", "fill", "#2b6cb0", "#7fb2ea"},   {"bar", "fill", "#7d9cc4", "#6d8fbd"},
    {"taken", "fill", "#2b6cb0", "#7fb2ea"},
};

std::string rules_of(Paper paper) {
  std::string rules;
  for (const PaintClass& c : kPaintClasses) {
    rules += fmt::format(".{}{{{}:{}}}", c.name, c.property, paper == Paper::kDark ? c.dark : c.light);
  }
  return rules;
}

constexpr int kStops = 16;  // of the gradient: one for each step of a palette, which mixes between them alike

}  // namespace

void Canvas::paint(std::string_view property, Rgb light, Rgb dark, std::string_view classes) {
  xml_.set(property, hex(paper() == Paper::kDark ? dark : light));
  std::string names(classes);
  if (adaptive() && hex(light) != hex(dark)) {
    const std::string name = fmt::format("{}{}", property.front(), hex(dark).substr(1));
    dark_rules_.insert(fmt::format(".{}{{{}:{}}}", name, property, hex(dark)));
    names += (names.empty() ? "" : " ") + name;
  }
  if (!names.empty()) xml_.set("class", names);
}

void Canvas::paint_weight(double weight) {
  // 256 colours are as many as an eye can tell apart, and the style sheet stays short.
  const double share = std::round(scale_.share(weight) * 255) / 255;
  const std::string& palette = scale_.style().palette;
  paint("fill", colour_at(palette, share, Paper::kLight), colour_at(palette, share, Paper::kDark));
}

void Canvas::paint_ink(std::string_view property, double weight, std::string_view classes) {
  paint(property, ink_on(scale_.colour(weight, Paper::kLight)), ink_on(scale_.colour(weight, Paper::kDark)), classes);
}

void Canvas::reach(double x, double y) {
  width_ = std::max(width_, x);
  height_ = std::max(height_, y);
}

void Canvas::text(std::string_view content, const TextAt& at) {
  const bool reversed = is_right_to_left(content);
  xml_.open("text").set("class", at.css_class);
  if (at.turn == 0) {
    xml_.set("x", at.x).set("y", at.y);
  } else {
    xml_.set("transform", fmt::format("translate({} {}) rotate({})", to_hundredths(at.x), to_hundredths(at.y),
                                      to_hundredths(at.turn)));
  }
  if (at.size != 13) xml_.set("font-size", at.size);
  if (at.bold) xml_.set("font-weight", "600");
  if (reversed) xml_.set("direction", "rtl").set("unicode-bidi", "embed");
  // The start of a right-to-left text is its right end.
  if (at.anchor == Anchor::kMiddle) xml_.set("text-anchor", "middle");
  if ((at.anchor == Anchor::kRight) != reversed && at.anchor != Anchor::kMiddle) xml_.set("text-anchor", "end");
  xml_.text(content).close();
}

void Canvas::label(const Label& label, TextAt at, double max_ems) {
  const std::string whole = shown(label), shortened = shorten(whole, max_ems);
  if (label.mark && at.css_class == "ink") at.css_class = "faint";
  if (shortened == whole) return text(whole, at);
  xml_.open("g").element("title", whole);
  text(shortened, at);
  xml_.close();
}

double Canvas::title(std::string_view content) {
  if (page()) return 4;
  constexpr double kSize = 16;
  text(content, {.x = kMargin, .y = kMargin + kSize, .size = kSize, .bold = true});
  reach(kMargin + ems(content) * kSize * 1.08, kMargin + kSize);
  return kMargin + kSize + 14;
}

double Canvas::heading(double y, std::string_view content, std::string_view explanation) {
  text(content, {.x = kMargin, .y = y + 14, .size = 14, .bold = true});
  text(explanation, {.x = kMargin, .y = y + 32, .size = 12, .css_class = "faint"});
  reach(kMargin + std::max(ems(content) * 15, ems(explanation) * 12), y + 32);
  return y + 48;
}

void Canvas::gradient(bool pen) {
  xml_.open("defs").open("linearGradient").set("id", "scale");
  const std::string& palette = scale_.style().palette;
  for (int i = 0; i <= kStops; ++i) {
    const double share = static_cast<double>(i) / kStops;
    xml_.open("stop").set("offset", fmt::format("{:.4f}", share));
    if (pen) {
      xml_.set("stop-color", hex(kPen)).set("stop-opacity", share);
    } else {
      paint("stop-color", colour_at(palette, share, Paper::kLight), colour_at(palette, share, Paper::kDark));
    }
    xml_.leaf();
  }
  xml_.close().close();
}

double Canvas::legend(double y, const LegendParts& parts) {
  constexpr double kLength = 240, kThick = 12, kSize = 11;
  const double name = ems("weight") * 12 + 14, left = kMargin + name;
  gradient(parts.pen);
  text("weight", {.x = kMargin, .y = y + kThick - 1.5, .size = 12, .css_class = "faint"});
  xml_.open("rect").set("x", left).set("y", y).set("width", kLength).set("height", kThick);
  xml_.set("fill", "url(#scale)").set("class", "rule").leaf();
  for (const Tick& tick : scale_.ticks(0.14)) {
    const double x = left + kLength * tick.share;
    xml_.open("path").set("class", "rule").set("d", fmt::format("M{} {}v4", to_hundredths(x), y + kThick)).leaf();
    text(tick.name, {.x = x, .y = y + kThick + 15, .size = kSize, .css_class = "faint", .anchor = Anchor::kMiddle});
  }
  double x = left + kLength + 32;
  if (scale_.style().scale != "linear") {
    const std::string what = scale_.style().scale + " scale";
    text(what, {.x = x, .y = y + kThick - 1.5, .size = 12, .css_class = "faint"});
    x += ems(what) * 12 + 20;
  }
  const auto entry = [&](std::string_view what, auto&& draw) {
    draw(x);
    text(what, {.x = x + 21, .y = y + kThick - 1.5, .size = 12, .css_class = "faint"});
    x += 21 + ems(what) * 12 + 20;
  };
  const auto box = [&](double at, double inset) -> Xml& {
    xml_.open("rect").set("x", at + inset).set("y", y - 1 + inset);
    return xml_.set("width", 14 - 2 * inset).set("height", 14 - 2 * inset);
  };
  if (parts.absent) {
    entry("masked", [&](double at) { box(at, 0).set("fill", "url(#absent)").set("class", "rule").leaf(); });
  }
  if (parts.hard) {
    entry("the position chosen", [&](double at) {
      box(at, 0);
      paint_weight(scale_.largest());
      xml_.leaf();
      box(at, 2).set("fill", "none").set("stroke-width", 2);
      paint_ink("stroke", scale_.largest());
      xml_.leaf();
    });
  }
  reach(x, y + kThick + 16);
  return y + kThick + 34;
}

std::string Canvas::finish(std::string_view name) {
  const double width = std::ceil(width_ + kMargin), height = std::ceil(height_ + kMargin);
  Xml root;
  root.open("svg").set("xmlns", "http://www.w3.org/2000/svg").set("width", width).set("height", height);
  root.set("viewBox", fmt::format("0 0 {} {}", width, height)).set("role", page() ? "group" : "img");
  root.set("aria-label", name).set("font-size", 13).set("text-rendering", "geometricPrecision");
  root.set("font-family", "system-ui,-apple-system,'Segoe UI','Noto Sans','DejaVu Sans',sans-serif");
  std::string dark = rules_of(Paper::kDark) + ".day{display:none}.night{display:inline}";
  for (const std::string& rule : dark_rules_) dark += rule;
  root.open("style").raw(rules_of(paper()) + ".night{display:none}");
  if (adaptive()) root.raw("@media (prefers-color-scheme:dark){" + dark + "}");
  root.close();
  root.open("defs").open("pattern").set("id", "absent").set("width", 5).set("height", 5);
  root.set("patternUnits", "userSpaceOnUse").set("patternTransform", "rotate(45)");
  root.open("path").set("class", "rule").set("d", "M0 0V5").set("stroke-width", 2).leaf();
  root.close().close();
  root.open("rect").set("class", "paper").set("width", width).set("height", height).leaf();
  root.raw(xml_.take()).close();
  return root.take();
}

bool has_absent(const Grid& grid) { return std::any_of(grid.weights.begin(), grid.weights.end(), is_absent); }

int64_t heaviest(const Grid& grid, int64_t row) {
  int64_t best = -1;
  for (int64_t c = 0; c < grid.width(); ++c) {
    if (is_absent(grid.at(row, c))) continue;
    if (best < 0 || grid.at(row, c) > grid.at(row, best)) best = c;
  }
  return best;
}

void check_grid(const Grid& grid, std::string_view view) {
  check(grid.height() > 0 && grid.width() > 0, "{}: expected at least one row and one column, got {} x {}", view,
        grid.height(), grid.width());
  check(grid.weights.size() == static_cast<size_t>(grid.height() * grid.width()),
        "{}: expected {} x {} weights, got {}", view, grid.height(), grid.width(), grid.weights.size());
  check(grid.notes.empty() || grid.notes.size() == grid.rows.size(), "{}: expected a note for each of {} rows, got {}",
        view, grid.rows.size(), grid.notes.size());
}

std::string weight_text(float weight) {
  if (is_absent(weight)) return "masked";
  if (weight >= 0.01F || weight <= 0) return fmt::format("{:.2f}", weight);
  return weight < 0.0001F ? "< 0.0001" : fmt::format("{:.4f}", weight);
}

}  // namespace fovea
