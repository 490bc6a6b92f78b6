// The parts of lit pictures that SVG files and HTML pages share: the photograph and the lights, for <use>.
#pragma once

#include <span>
#include <string>

#include "view/picture_frames.h"

namespace fovea {

constexpr double kPictureUnits = 512;             // the width of the photograph and of its lights
double picture_height(const RecordImage& image);  // in the same units

// <defs> with the images #photo, #light0, #light1 ...
std::string picture_defs(const RecordImage& image, std::span<const PictureFrame> frames, const PictureStyle& style);

}  // namespace fovea
