// Text as code points, in the sense of Python's strings, so that a metric defined by a Python program
// (sacreBLEU) comes out the same: its white space, its lower case, its general categories.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fovea::unicode {

std::u32string decode(std::string_view utf8);  // a byte that is not UTF-8 becomes U+FFFD
std::string encode(std::u32string_view text);

bool is_space(char32_t c);        // str.isspace
bool is_punctuation(char32_t c);  // \p{P}
bool is_symbol(char32_t c);       // \p{S}
bool is_number(char32_t c);       // \p{N}

std::u32string lower(std::u32string_view text);                    // str.lower
std::u32string_view strip(std::u32string_view text);               // str.strip
std::u32string_view strip_end(std::u32string_view text);           // str.rstrip
std::vector<std::u32string_view> split(std::u32string_view text);  // str.split, views into text

}  // namespace fovea::unicode
