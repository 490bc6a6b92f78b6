// What the SVG pictures share: colours for light and dark, text at a place, the scale of weights, the root element.
// Lengths are in units of the SVG. Colours are classes of one style sheet, so that a page can be dark.
#pragma once

#include <string>
#include <string_view>

#include "view/grid.h"
#include "view/style.h"
#include "view/xml.h"

namespace fovea {

// On a page the title stands above the picture, and the parts that a person can point at say so.
struct Medium {
  bool page = false;
};

enum class Side { kLeft, kMiddle, kRight };  // of a text, that lies at x

struct TextAt {
  double x = 0, y = 0;  // of the baseline
  double size = 13;
  std::string_view look = "ink";  // ink, faint, on; a mark in ink is faint, one in "ink shaded" is not
  Side side = Side::kLeft;
  double turn = 0;  // degrees, about (x, y)
  bool bold = false;
};

struct LegendParts {
  bool pen = false;  // shading of words instead of the palette
  bool absent = false, hard = false;
};

constexpr double kMargin = 20;

class Canvas {
 public:
  Canvas(const PictureStyle& style, Medium medium) : style_(style), medium_(medium) {}

  Xml& xml() { return xml_; }
  const PictureStyle& style() const { return style_; }
  bool page() const { return medium_.page; }

  // The picture holds what lies left of and above (x, y), and a margin.
  void reach(double x, double y);
  void text(std::string_view content, const TextAt& at);
  // A token, shortened to so many ems, its whole text in a tooltip.
  void label(const Label& label, TextAt at, double most_ems);
  // These return where what comes below may begin.
  double title(std::string_view content);
  double heading(double y, std::string_view content, std::string_view explanation);
  double legend(double y, const LegendParts& parts);

  std::string finish(std::string_view name);  // the SVG

 private:
  PictureStyle style_;
  Medium medium_;
  Xml xml_;
  double width_ = 0, height_ = 0;
};

bool has_absent(const Grid& grid);
// The heaviest cell of a row, -1 where all are absent.
int64_t heaviest(const Grid& grid, int64_t row);
void check_grid(const Grid& grid, std::string_view view);  // sides, numbers and notes fit, and none is empty
std::string of_weight(float weight);                       // "0.83", "0.0021", "< 0.0001", "masked"

}  // namespace fovea
