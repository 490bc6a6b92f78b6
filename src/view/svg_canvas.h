// The drawing surface that all SVG pictures share: colours for light and dark, text, the legend, the root element.
// Lengths are in SVG user units. Colours are classes of one style sheet, so that the reader can choose a dark
// background.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "view/colour_scale.h"
#include "view/grid.h"
#include "view/xml.h"

namespace fovea {

// Where a picture is shown: in a file of its own, or on an HTML page, which has the title above the picture and makes
// words focusable.
struct Medium {
  bool page = false;
};

enum class Anchor { kLeft, kMiddle, kRight };  // the point of a text that is at x

struct TextAt {
  double x = 0, y = 0;  // y is the baseline
  double size = 13;
  std::string_view css_class = "ink";  // ink, faint, on; a special token in "ink" becomes faint, in "ink shaded" not
  Anchor anchor = Anchor::kLeft;
  double turn = 0;  // rotation about (x, y), in degrees
  bool bold = false;
};

struct LegendParts {
  bool pen = false;  // shows the shades of the marker pen instead of the palette
  bool absent = false, hard = false;
};

constexpr double kMargin = 20;

class Canvas {
 public:
  Canvas(const WeightScale& scale, Medium medium) : scale_(scale), medium_(medium) {}

  Xml& xml() { return xml_; }
  const WeightScale& scale() const { return scale_; }
  bool page() const { return medium_.page; }
  // paper() is drawn by readers without media queries; with adaptive() other readers follow their light or dark mode.
  Paper paper() const { return scale_.style().background == "dark" ? Paper::kDark : Paper::kLight; }
  bool adaptive() const { return scale_.style().background == "auto"; }

  // Sets a colour of the open element, for light and for dark paper, and adds `classes` to the element.
  void paint(std::string_view property, Rgb light, Rgb dark, std::string_view classes = "");
  void paint_weight(double weight);  // fills with the colour of the weight
  // Paints black or white, whichever has the higher contrast with the colour of the weight.
  void paint_ink(std::string_view property, double weight, std::string_view classes = "");

  // Enlarges the picture so that it holds the point (x, y).
  void reach(double x, double y);
  void text(std::string_view content, const TextAt& at);
  // Writes a token, shortened to max_ems; a tooltip has the whole text.
  void label(const Label& label, TextAt at, double max_ems);
  // These return the y of the next free line below.
  double title(std::string_view content);
  double heading(double y, std::string_view content, std::string_view explanation);
  double legend(double y, const LegendParts& parts);

  std::string finish(std::string_view name);  // returns the SVG; `name` is its accessible name

 private:
  void gradient(bool pen);

  WeightScale scale_;
  Medium medium_;
  Xml xml_;
  std::set<std::string> dark_rules_;  // CSS rules for colours that differ on dark paper
  double width_ = 0, height_ = 0;
};

bool has_absent(const Grid& grid);
// The first column with the largest weight of a row; -1 if all cells are absent.
int64_t heaviest(const Grid& grid, int64_t row);
// Throws an Error unless the grid has cells and as many weights and notes as its labels need.
void check_grid(const Grid& grid, std::string_view view);
std::string weight_text(float weight);  // "0.83", "0.0021", "< 0.0001", "masked"

}  // namespace fovea
