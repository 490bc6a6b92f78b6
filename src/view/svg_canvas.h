// What the SVG pictures share: colours for light and dark, text at a place, the scale of weights, the root element.
// Lengths are in units of the SVG. Colours are classes of one style sheet, so that a page can be dark.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "view/colour_scale.h"
#include "view/grid.h"
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
  Canvas(const WeightScale& scale, Medium medium) : scale_(scale), medium_(medium) {}

  Xml& xml() { return xml_; }
  const WeightScale& scale() const { return scale_; }
  bool page() const { return medium_.page; }
  // The paper that is drawn by readers without media queries, and whether others may choose theirs.
  Paper paper() const { return scale_.style().background == "dark" ? Paper::kDark : Paper::kLight; }
  bool adaptive() const { return scale_.style().background == "auto"; }

  // Sets a colour of the open element for both papers, and its classes.
  void paint(std::string_view property, Rgb light, Rgb dark, std::string_view classes = "");
  void paint_weight(double weight);  // fill, on the scale
  // Black or white, to be read on the colour of a weight.
  void paint_ink(std::string_view property, double weight, std::string_view classes = "");

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
  void gradient(bool pen);

  WeightScale scale_;
  Medium medium_;
  Xml xml_;
  std::set<std::string> dark_rules_;  // of colours that differ on dark paper
  double width_ = 0, height_ = 0;
};

bool has_absent(const Grid& grid);
// The heaviest cell of a row, -1 where all are absent.
int64_t heaviest(const Grid& grid, int64_t row);
void check_grid(const Grid& grid, std::string_view view);  // sides, numbers and notes fit, and none is empty
std::string of_weight(float weight);                       // "0.83", "0.0021", "< 0.0001", "masked"

}  // namespace fovea
