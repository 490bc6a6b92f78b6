// Where words begin among the tokens of a text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// Sets starts_word of each token: after a space, and wherever a script without spaces is met.
void mark_word_starts(std::string_view text, std::vector<Token>& tokens);

// The word, by white space and from 0, that lies at each of these bytes: how alignments number words.
std::vector<int64_t> word_indices(std::string_view text, std::span<const size_t> bytes);

// SentencePiece's BPE trainer aborts the process on a word of more than 65,535 characters. Normalisation turns one
// character into 18 at most, so this many characters are always safe; longer words are data such as base64, not
// language.
constexpr int64_t kMaxWordCharacters = 3'000;
// The number of characters in the longest word, where spaces and tabs alone separate words, as SentencePiece sees them.
int64_t longest_word(std::string_view text);

}  // namespace fovea
