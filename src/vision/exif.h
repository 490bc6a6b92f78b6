// The orientation in EXIF metadata.
#pragma once

#include <string_view>

namespace fovea {

// Returns the orientation, 1 to 8, in an EXIF block (TIFF, with or without the prefix "Exif\0\0"); 1, which means
// upright, if it has none or is damaged.
int exif_orientation(std::string_view block);

}  // namespace fovea
