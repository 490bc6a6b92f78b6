// Text for a terminal: its width, truncated, padded and made harmless.
//
// Widths are those of wcwidth: East Asian wide and fullwidth characters and emoji take two columns; combining marks,
// joiners, variation selectors and direction marks none; all other characters, also ambiguous ones, take one. Widths of
// characters add up, as in most terminals: a family that is joined of three emoji takes six columns.
//
// Right-to-left text is printed in logical order, the order it is read in. Terminals with bidi reverse it, and would
// also move the cells beside it: in columns, isolate() encloses each token in U+2068 and U+2069, which take no columns.
// Terminals without bidi print the logical order.
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
// Whether any character is written from right to left.
bool has_rtl(std::string_view text);
// The text between U+2068 and U+2069 if any of it is written from right to left, else the text.
std::string isolate(std::string_view text);

// The text without anything that a terminal would obey: control characters become their pictures (U+241B for escape);
// bytes that are not UTF-8, eight-bit controls, line separators and characters that embed or override directions become
// U+FFFD. A combining mark at the beginning gets U+25CC as its base. With `ascii`, other characters become \u4e2d.
std::string harmless(std::string_view text, bool ascii = false);

// Splits a text into characters, each with the combining marks that follow it.
std::vector<std::string> clusters(std::string_view text);

// Truncates a text to whole clusters within a width; ends in the ellipsis if anything is left out.
std::string truncate_to_width(std::string_view text, int64_t width, std::string_view ellipsis = "…");
// Adds spaces after or before, up to the width. A wider text is returned unchanged.
std::string pad_right(std::string_view text, int64_t width);
std::string pad_left(std::string_view text, int64_t width);

}  // namespace fovea
