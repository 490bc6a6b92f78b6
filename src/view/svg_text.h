// Text of SVG pictures: how tokens are shown, their direction, and an estimate of their width, because a picture is
// laid out before the reader's fonts are known.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "view/grid.h"

namespace fovea {

double ems(std::string_view text);                           // estimated width, in multiples of the font size
std::string shorten(std::string_view text, double max_ems);  // ends in an ellipsis if anything was left out
std::string shown(const Label& label);                       // "␣" for a text of white space
bool is_right_to_left(std::string_view text);                // more letters are right-to-left than not
bool is_right_to_left(std::span<const Label> sentence);      // the same for a sentence, without special tokens
std::string isolated(std::string_view text);  // isolates the direction of a right-to-left text (U+2068, U+2069)

}  // namespace fovea
