// The options of a picture: how weights become colours, the background, and how many links are hidden.
#pragma once

#include <string>

#include "base/fields.h"

namespace fovea {

struct PictureStyle {
  std::string scale = "linear";
  std::string palette = "blues";
  std::string background = "auto";
  double max_weight = 0;
  bool normalise = false;
  double hide = 0.1;

  void describe(Fields& fields);
};

}  // namespace fovea
