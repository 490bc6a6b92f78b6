// Tokens as they are shown, and an estimate of their width: an SVG is laid out before anyone has its fonts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "view/grid.h"

namespace fovea {

double ems(std::string_view text);                            // the width, in multiples of the font's size
std::string shorten(std::string_view text, double most_ems);  // ends in an ellipsis where it was cut
std::string shown(const Label& label);                        // a sign where the text is nothing but space
bool is_right_to_left(std::string_view text);                 // more of its letters are
bool is_right_to_left(std::span<const Label> sentence);       // the same of a sentence
std::string isolated(std::string_view text);                  // keeps its direction to itself within a sentence

}  // namespace fovea
