// How weights become colours and what a picture leaves out.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields.h"

namespace fovea {

struct PictureStyle {
  std::string scale = "linear";
  std::string palette = "cividis";
  double hide = 0.1;

  void describe(Fields& fields);
};

struct Rgb {
  uint8_t red, green, blue;
};

// Where a weight lies on the scale, 0 to 1: w, sqrt(w), or log from 0.001 up.
double on_scale(const PictureStyle& style, double weight);
Rgb colour_at(const PictureStyle& style, double share);  // of the palette, 0 to 1
// Black or white, whichever is read more easily on a colour.
Rgb ink_on(Rgb colour);
std::string hex(Rgb colour);  // "#00224e"

}  // namespace fovea
