// The colour scale of all pictures. Weight 0 has the colour of the paper and the largest weight shown the strongest
// colour. web/src/views/colour.ts has the same palettes; tests/view/cases/colours.json has the cases of both.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "view/grid.h"
#include "view/picture_style.h"

namespace fovea {

struct Rgb {
  uint8_t red, green, blue;
};

enum class Paper { kLight, kDark };

// The colour at `share`, 0 to 1, of a palette, which runs from white to dark on light paper and back on dark paper.
Rgb colour_at(const std::string& palette, double share, Paper paper);
// Black or white, whichever has the higher contrast with a colour.
Rgb ink_on(Rgb colour);
std::string hex(Rgb colour);  // "#00224e"

// The colour of the marker pen that shades words.
constexpr Rgb kPen{0xfe, 0xe8, 0x38};

struct Tick {
  double weight, share;
  std::string name;  // "0.25"; the lowest tick of a log scale is "≤ 0.001"
};

class WeightScale {
 public:
  // The scale ends at style.max_weight if that is set, else at the largest weight of the grids, or at 1 if all are 0.
  WeightScale(const PictureStyle& style, std::span<const Grid> grids);
  WeightScale(const PictureStyle& style, const Grid& grid) : WeightScale(style, std::span(&grid, 1)) {}

  const PictureStyle& style() const { return style_; }
  double largest() const { return largest_; }
  // The position of a weight on the scale, 0 to 1.
  double share(double weight) const;
  Rgb colour(double weight, Paper paper) const { return colour_at(style_.palette, share(weight), paper); }
  // The two ends of the scale and round weights between them, at least `gap` of the scale apart.
  std::vector<Tick> ticks(double gap) const;

 private:
  PictureStyle style_;
  double largest_ = 1;
};

}  // namespace fovea
