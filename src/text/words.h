// Where words begin among the tokens of a text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// Sets starts_word of each token: after a space, and wherever a script without spaces is met.
void mark_words(std::string_view text, std::vector<Token>& tokens);

// The word, by white space and from 0, that lies at each of these bytes: how alignments number words.
std::vector<int64_t> space_words(std::string_view text, std::span<const size_t> bytes);

}  // namespace fovea
