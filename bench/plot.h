// Curves over two logarithmic axes, as SVG: a power law is a straight line, and its exponent is the slope.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

using Points = std::vector<std::pair<double, double>>;  // both positive, the first ascending

// The exponent e of y ~ x^e through the last `count` points, by least squares of the logarithms. NaN for fewer than
// two.
double slope(const Points& points, size_t count);

struct PlotCurve {
  std::string name;
  Points points;
};
struct Plot {
  std::string title, across, up;  // what is plotted, and the two axes with their units
  std::vector<PlotCurve> curves;
};
// Panels in rows of two, each with a legend.
std::string plots_svg(const std::vector<Plot>& plots);

}  // namespace bench
