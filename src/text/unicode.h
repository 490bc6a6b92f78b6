// Text as code points with the semantics of Python's strings (white space, lower case, general categories), so that
// metrics equal those of sacreBLEU, which is written in Python.
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
