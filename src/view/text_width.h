// How wide text is in a terminal, and text cut, padded and made harmless for one.
//
// Widths are those of wcwidth: East Asian wide and fullwidth characters and emoji take two columns; combining marks,
// joiners, variation selectors and direction marks none; everything else, the ambiguous among it, one. They add up
// character by character, as most terminals do it: a family joined of three emoji takes six columns.
//
// Right-to-left text stays in logical order, the order it is read in. Terminals with bidi turn it round, and would
// move the cells beside it: where text stands in columns, isolate() fences each token off (U+2068 ... U+2069, no
// columns wide). Terminals without bidi print it as it is stored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

int64_t display_width(std::string_view text);
int64_t display_width(char32_t character);

// Whether the first character with a direction is written from right to left.
bool is_rtl(std::string_view text);
// Whether any character is.
bool has_rtl(std::string_view text);
// The text between U+2068 and U+2069 when any of it is written from right to left, else the text.
std::string isolate(std::string_view text);

// The text with nothing in it that a terminal obeys: control characters as their pictures (U+241B for escape), and
// U+FFFD for bytes that are not UTF-8, eight-bit controls, line separators and what embeds or overrides directions.
// A combining mark at the beginning stands on U+25CC. With `ascii`, what is not ASCII becomes \u4e2d.
std::string harmless(std::string_view text, bool ascii = false);

// A character and what combines with it, each.
std::vector<std::string> clusters(std::string_view text);

// Whole clusters, at most so many columns; with an ellipsis as the last when anything is left out.
std::string truncate_to_width(std::string_view text, int64_t width, std::string_view ellipsis = "…");
// Spaces after or before, up to the width. A text that is wider stays as it is.
std::string pad_right(std::string_view text, int64_t width);
std::string pad_left(std::string_view text, int64_t width);

}  // namespace fovea
