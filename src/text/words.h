// Where words begin among the tokens of a text.
#pragma once

#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// Sets starts_word of each token: after a space, and wherever a script without spaces is met.
void mark_words(std::string_view text, std::vector<Token>& tokens);

}  // namespace fovea
