#include "bench/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace bench {

namespace {

constexpr double kWidth = 420, kHeight = 300;                       // of a panel
constexpr double kLeft = 62, kRight = 14, kTop = 62, kBottom = 44;  // around the axes
// Distinguishable by colour-blind readers and in grey (Okabe & Ito 2008).
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"};

// A logarithmic axis from a to b pixels.
struct Axis {
  double low, high, a, b;
  double at(double value) const { return a + (std::log(value / low) / std::log(high / low)) * (b - a); }
};

// 1, 2 and 5 times the powers of ten within the axis; the powers of ten alone if there are many.
std::vector<double> ticks(const Axis& axis) {
  std::vector<double> marks;
  for (const bool fine : {true, false}) {
    marks.clear();
    for (double power = std::pow(10, std::floor(std::log10(axis.low))); power <= axis.high; power *= 10) {
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double value = digit * power;
        if (value >= axis.low * 0.999 && value <= axis.high * 1.001 && (fine || digit == 1.0)) marks.push_back(value);
      }
    }
    if (marks.size() <= 8) break;
  }
  return marks;
}

std::string number(double value) {
  return value >= 1000 ? fmt::format("{:g}k", value / 1000) : fmt::format("{:g}", value);
}

std::string panel(const Plot& plot, double x, double y) {
  double low[2], high[2];
  std::fill_n(low, 2, std::numeric_limits<double>::max());
  std::fill_n(high, 2, 0.0);
  for (const PlotCurve& curve : plot.curves) {
    for (const auto& [across, up] : curve.points) {
      for (const auto& [axis, value] : {std::pair{0, across}, {1, up}}) {
        low[axis] = std::min(low[axis], value);
        high[axis] = std::max(high[axis], value);
      }
    }
  }
  const Axis across{low[0] / 1.1, high[0] * 1.1, x + kLeft, x + kWidth - kRight};
  const Axis up{low[1] / 1.2, high[1] * 1.2, y + kHeight - kBottom, y + kTop};
  std::string svg = fmt::format("<text x='{}' y='{}' class='title'>{}</text>\n", x + kLeft, y + 18, plot.title);
  for (const double value : ticks(across)) {
    svg += fmt::format(
        "<path class='grid' d='M{0:.1f} {1:.1f}V{2:.1f}'/><text x='{0:.1f}' y='{3:.1f}' "
        "text-anchor='middle'>{4}</text>\n",
        across.at(value), up.a, up.b, up.a + 15, number(value));
  }
  for (const double value : ticks(up)) {
    svg += fmt::format(
        "<path class='grid' d='M{0:.1f} {1:.1f}H{2:.1f}'/><text x='{3:.1f}' y='{4:.1f}' "
        "text-anchor='end'>{5}</text>\n",
        across.a, up.at(value), across.b, across.a - 6, up.at(value) + 4, number(value));
  }
  svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", (across.a + across.b) / 2,
                     up.a + 33, plot.across);
  svg += fmt::format("<text transform='translate({:.1f} {:.1f}) rotate(-90)' text-anchor='middle'>{}</text>\n", x + 14,
                     (up.a + up.b) / 2, plot.up);
  for (size_t i = 0; i < plot.curves.size(); ++i) {
    const PlotCurve& curve = plot.curves[i];
    const char* colour = kColours[i % std::size(kColours)];
    std::string path, dots;
    for (const auto& [a, b] : curve.points) {
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", across.at(a), up.at(b));
      dots += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3'/>", across.at(a), up.at(b));
    }
    svg += fmt::format("<path d='{}' fill='none' stroke='{}' stroke-width='2'{}/><g fill='{}'>{}</g>\n", path, colour,
                       i % 2 == 1 ? " stroke-dasharray='6 3'" : "", colour, dots);
    const double legend_x = across.a + static_cast<double>(i % 2) * 180,
                 legend_y = y + 34 + static_cast<double>(i / 2) * 14;
    svg += fmt::format(
        "<path d='M{:.1f} {:.1f}h16' stroke='{}' stroke-width='2'{}/><text x='{:.1f}' y='{:.1f}'>{}</text>\n", legend_x,
        legend_y - 4, colour, i % 2 == 1 ? " stroke-dasharray='6 3'" : "", legend_x + 21, legend_y, curve.name);
  }
  return svg;
}

}  // namespace

double slope(const Points& points, size_t count) {
  const size_t n = std::min(count, points.size());
  if (n < 2) return std::numeric_limits<double>::quiet_NaN();
  double x = 0, y = 0, xx = 0, xy = 0;
  for (size_t i = points.size() - n; i < points.size(); ++i) {
    const double a = std::log(points[i].first), b = std::log(points[i].second);
    x += a, y += b, xx += a * a, xy += a * b;
  }
  const auto total = static_cast<double>(n);
  return (total * xy - x * y) / (total * xx - x * x);
}

std::string plots_svg(const std::vector<Plot>& plots) {
  const size_t rows = (plots.size() + 1) / 2;
  const double width = kWidth * static_cast<double>(std::min<size_t>(plots.size(), 2));
  const double height = kHeight * static_cast<double>(rows);
  std::string svg = fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{0}' height='{1}' viewBox='0 0 {0} {1}' font-family='sans-serif' "
      "font-size='11'>\n<style>text{{fill:#222}}.title{{font-size:13px;font-weight:bold}}.grid{{stroke:#ddd}}</style>\n"
      "<rect width='{0}' height='{1}' fill='#fff'/>\n",
      width, height);
  for (size_t i = 0; i < plots.size(); ++i) {
    svg += panel(plots[i], static_cast<double>(i % 2) * kWidth, static_cast<double>(i / 2) * kHeight);
  }
  return svg + "</svg>\n";
}

}  // namespace bench
