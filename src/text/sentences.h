// Splits a document into sentences, and the lead baseline of summarisation: a document's first sentences.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// A sentence ends with . ! ? or …, with closing quotes and brackets, before white space and a character that is not a
// lower-case letter, unless the word before the full stop is an abbreviation or an initial, or the number of an item at
// the start of the sentence; and with 。！？ anywhere.
std::vector<std::string_view> split_sentences(std::string_view text);

// The first `count` sentences; all of a text that has fewer.
std::string_view lead_sentences(std::string_view text, int64_t count);

}  // namespace fovea
