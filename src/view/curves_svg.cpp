// Draws training curves as one SVG file: panels below each other, text as text, colours for light and dark.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "view/curves.h"
#include "view/svg_text.h"
#include "view/xml.h"

namespace fovea {

namespace {

constexpr double kWidth = 720, kPanel = 240, kLeft = 64, kRight = 20, kTop = 30, kBottom = 34;
constexpr double kMargin = 16, kText = 12, kSample = 28, kLegendLine = 18;
constexpr int kColours = 8;

// The light colours are the default, for readers that do not know media queries.
constexpr const char* kStyle = R"(  <style>
    .ground { fill: #ffffff; }
    text { font: 12px system-ui, sans-serif; fill: #1b1f24; }
    .title { font-size: 14px; font-weight: 600; }
    .tick { fill: #66707b; }
    .grid { stroke: #d5dae0; }
    .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
    .thin { stroke-width: 1.25; stroke-dasharray: 4 2; }
    .c0 { stroke: #2b6cb0; } .c1 { stroke: #b64a00; } .c2 { stroke: #00734f; } .c3 { stroke: #8b3a8b; }
    .c4 { stroke: #7a5c00; } .c5 { stroke: #c2255c; } .c6 { stroke: #0b7285; } .c7 { stroke: #5f6770; }
    circle.c0 { fill: #2b6cb0; } circle.c1 { fill: #b64a00; } circle.c2 { fill: #00734f; } circle.c3 { fill: #8b3a8b; }
    circle.c4 { fill: #7a5c00; } circle.c5 { fill: #c2255c; } circle.c6 { fill: #0b7285; } circle.c7 { fill: #5f6770; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #14171c; }
      text { fill: #e6e9ed; }
      .tick { fill: #98a2ad; }
      .grid { stroke: #3a414b; }
      .c0 { stroke: #7fb2ea; } .c1 { stroke: #f0883e; } .c2 { stroke: #3fb994; } .c3 { stroke: #d58fd5; }
      .c4 { stroke: #d8b44a; } .c5 { stroke: #ff8fb1; } .c6 { stroke: #66d9e8; } .c7 { stroke: #b4bcc5; }
      circle.c0 { fill: #7fb2ea; } circle.c1 { fill: #f0883e; } circle.c2 { fill: #3fb994; }
      circle.c3 { fill: #d58fd5; } circle.c4 { fill: #d8b44a; }
      circle.c5 { fill: #ff8fb1; } circle.c6 { fill: #66d9e8; } circle.c7 { fill: #b4bcc5; }
    }
  </style>
)";

class Svg {
 public:
  explicit Svg(const std::vector<CurvePanel>& panels) {
    for (const CurvePanel& panel : panels) draw(panel);
  }

  std::string file() const {
    return fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n"
        "  <title>Training curves</title>\n{2}  <rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n{3}</svg>\n",
        kWidth, y_, kStyle, body_);
  }

 private:
  double x(const CurvePanel& panel, double step) const {
    return kLeft + panel.across(step) * (kWidth - kLeft - kRight);
  }
  double y(const CurvePanel& panel, double value) const {
    return plot_ + (1 - panel.up(value)) * (kPanel - kTop - kBottom);
  }

  void draw(const CurvePanel& panel) {
    text(16, y_ + 22, "title", panel.title + (panel.logarithmic ? " (logarithmic scale)" : ""));
    const double legend = draw_legend(panel);
    plot_ = y_ + kTop + legend;
    draw_axes(panel);
    for (const PanelCurve& curve : panel.curves) draw_curve(panel, curve);
    y_ += kPanel + legend;
  }

  // Draws the names of the curves in as many lines as they need and returns the height of the legend.
  double draw_legend(const CurvePanel& panel) {
    double across = kMargin, line = y_ + kTop + 6;
    for (const PanelCurve& curve : panel.curves) {
      const double width = kSample + 8 + ems(curve.name) * kText;
      if (across > kMargin && across + width > kWidth - kRight) across = kMargin, line += kLegendLine;
      body_ +=
          fmt::format("  <path class=\"{}\" d=\"M{:.1f} {:.1f}h{}\"/>\n", classes(panel, curve), across, line, kSample);
      if (curve.marked) circle(curve, across + kSample / 2, line);
      text(across + kSample + 8, line + 4, "name", curve.name);
      across += width + 20;
    }
    return line - y_ - kTop + kLegendLine;
  }

  static std::string colour(const PanelCurve& curve) { return fmt::format("c{}", curve.run % kColours); }
  // A curve without dots is thin if the panel has curves with dots.
  static std::string classes(const CurvePanel& panel, const PanelCurve& curve) {
    const bool beside = std::any_of(panel.curves.begin(), panel.curves.end(), [](const auto& c) { return c.marked; });
    return fmt::format("curve {}{}", beside && !curve.marked ? "thin " : "", colour(curve));
  }
  void circle(const PanelCurve& curve, double across, double down) {
    body_ +=
        fmt::format("  <circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\"/>\n", colour(curve), across, down);
  }
  void text(double across, double down, std::string_view kind, std::string_view content,
            std::string_view anchor = "start") {
    body_ += fmt::format("  <text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", kind, across,
                         down, anchor, escape_xml(content));
  }

  void draw_axes(const CurvePanel& panel) {
    const double bottom = plot_ + kPanel - kTop - kBottom;
    for (const double tick : panel.value_ticks(6)) {
      const double at = y(panel, tick);
      body_ += fmt::format("  <path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, at, kWidth - kRight);
      text(kLeft - 8, at + 4, "tick", tick_text(tick), "end");
    }
    for (const double tick : panel.step_ticks(8)) {
      const double at = x(panel, tick);
      body_ += fmt::format("  <path class=\"grid\" d=\"M{:.1f} {:.1f}v5\"/>\n", at, bottom);
      text(at, bottom + 18, "tick", tick_text(tick), "middle");
    }
    text(16, bottom + 18, "tick", "step");
  }

  void draw_curve(const CurvePanel& panel, const PanelCurve& curve) {
    std::string path;
    bool open = false;  // whether a stroke is being drawn; NaN ends it
    for (const auto& [step, value] : *curve.points) {
      if (std::isfinite(value))
        path += fmt::format("{}{:.1f} {:.1f}", open ? "L" : "M", x(panel, step), y(panel, value));
      open = std::isfinite(value);
    }
    if (!path.empty()) body_ += fmt::format("  <path class=\"{}\" d=\"{}\"/>\n", classes(panel, curve), path);
    if (!curve.marked && curve.points->size() > 1) return;
    for (const auto& [step, value] : *curve.points) {
      if (std::isfinite(value)) circle(curve, x(panel, step), y(panel, value));
    }
  }

  double y_ = 0, plot_ = 0;  // the tops of the panel and of its plot
  std::string body_;
};

}  // namespace

std::string curves_svg(std::span<const RunCurves> runs) { return Svg(curve_panels(runs)).file(); }

}  // namespace fovea
