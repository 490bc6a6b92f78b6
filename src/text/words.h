// Word boundaries in text and among tokens.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace fovea {

// Sets starts_word of each token: true after a space and in scripts without spaces.
void mark_word_starts(std::string_view text, std::vector<Token>& tokens);

// For each byte position, the index from 0 of the white-space separated word at that position.
std::vector<int64_t> word_indices(std::string_view text, std::span<const size_t> bytes);

// For each token, given by its first byte and whether it starts a word, the index from 0 of its word as word alignments
// number them: words separated by white space; in scripts without spaces each token, unless the text was segmented.
std::vector<int64_t> alignment_words(std::string_view text, std::span<const size_t> begins,
                                     const std::vector<bool>& starts_word);

// The units of the vocabulary kind "token": words, and punctuation marks by themselves. Written as an entry, a mark has
// a joiner on each side on which no space separates it from its neighbour: "Rome, (Italy)" is Rome ￭, (￭ Italy ￭). A
// full stop or comma between digits belongs to its number.
constexpr std::string_view kJoiner = "\uFFED";
bool is_punctuation(char32_t value);
std::string joined_entry(std::string_view text, size_t begin, size_t end);

// The text with its identifiers as words: cityServed becomes "city served" and is_part_of "is part of". An identifier
// starts with a small Latin letter and has only letters, digits and underscores, with a capital letter after a small
// one or with an underscore between two letters.
std::string split_identifiers(std::string_view text);

// SentencePiece's BPE trainer aborts the process on a word of more than 65,535 characters. Normalisation expands one
// character to at most 18, so words up to this limit are safe. Longer words are data such as base64, not language.
constexpr int64_t kMaxWordCharacters = 3'000;
// The number of characters in the longest word. Only spaces and tabs separate words, as in SentencePiece.
int64_t longest_word(std::string_view text);

}  // namespace fovea
