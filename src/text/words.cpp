#include "text/words.h"

#include <algorithm>
#include <cctype>

#include "text/utf8.h"

namespace fovea {

namespace {

// The character that ends at byte `at`.
char32_t code_point_before(std::string_view text, size_t at) {
  size_t begin = at - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return code_point_at(text, begin).value;
}

bool word_begins_at(std::string_view text, size_t at) {
  if (at == 0 || at >= text.size()) return true;
  const char32_t before = code_point_before(text, at), here = code_point_at(text, at).value;
  if (is_space(here)) return false;
  return is_space(before) || is_unspaced(before) || is_unspaced(here);
}

// Whether white space separates words of a script without spaces, which means that the text was segmented before.
bool is_split(std::string_view text) {
  bool unspaced = false, space = false;  // of the last character that is no space, and whether a space follows it
  for (const CodePoint& c : code_points(text)) {
    if (is_space(c.value)) {
      space = true;
      continue;
    }
    if (unspaced && space && is_unspaced(c.value)) return true;
    unspaced = is_unspaced(c.value);
    space = false;
  }
  return false;
}

}  // namespace

void mark_word_starts(std::string_view text, std::vector<Token>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    Token& token = tokens[i];
    // An empty token (a single space, the first bytes of a character) already starts the word that follows it.
    const bool continues = i > 0 && tokens[i - 1].begin == token.begin && !is_control_token(tokens[i - 1].id);
    token.starts_word = i == 0 || is_control_token(token.id) || (!continues && word_begins_at(text, token.begin));
  }
}

std::vector<int64_t> word_indices(std::string_view text, std::span<const size_t> bytes) {
  std::vector<size_t> begins;  // the position of each word
  bool after_space = true;
  for (const auto& [value, begin, end] : code_points(text)) {
    const bool space = is_space(value);
    if (after_space && !space) begins.push_back(begin);
    after_space = space;
  }
  std::vector<int64_t> words;
  for (const size_t byte : bytes) {
    const auto next = std::upper_bound(begins.begin(), begins.end(), byte);
    words.push_back(std::max<int64_t>(0, next - begins.begin() - 1));
  }
  return words;
}

std::vector<int64_t> alignment_words(std::string_view text, std::span<const size_t> begins,
                                     const std::vector<bool>& starts_word) {
  const std::vector<int64_t> spaced = word_indices(text, begins);
  if (is_split(text)) return spaced;
  std::vector<int64_t> words = spaced;
  int64_t extra = 0;  // words so far that no space separates from the word before
  for (size_t i = 0; i < begins.size(); ++i) {
    if (i > 0 && starts_word[i] && spaced[i] == spaced[i - 1]) ++extra;
    words[i] += extra;
  }
  return words;
}

bool is_punctuation(char32_t value) {
  if (value < 0x80) return value > 0x20 && value != '_' && std::ispunct(static_cast<int>(value)) != 0;
  return (value >= 0xA1 && value <= 0xBF && value != 0xAA && value != 0xB5 && value != 0xBA) ||
         (value >= 0x2010 && value <= 0x205E) || (value >= 0x3001 && value <= 0x3003) ||
         (value >= 0x3008 && value <= 0x301F) || (value >= 0xFF01 && value <= 0xFF0F) ||
         (value >= 0xFF1A && value <= 0xFF20);
}

std::string joined_entry(std::string_view text, size_t begin, size_t end) {
  std::string entry(text.substr(begin, end - begin));
  const CodePoint only = code_point_at(text, begin);
  if (only.end != end || !is_punctuation(only.value)) return entry;
  if (begin > 0 && !is_space(code_point_before(text, begin))) entry.insert(0, kJoiner);
  if (end < text.size() && !is_space(code_point_at(text, end).value)) entry += kJoiner;
  return entry;
}

namespace {

bool is_small(char c) { return c >= 'a' && c <= 'z'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

// The words of an identifier; the word itself if it is none.
std::string identifier_words(std::string_view word) {
  const auto part = [](char c) { return is_small(c) || is_capital(c) || (c >= '0' && c <= '9') || c == '_'; };
  if (!is_small(word[0]) || !std::all_of(word.begin(), word.end(), part) || word.back() == '_')
    return std::string(word);
  std::string words;
  bool split = false;
  for (size_t i = 0; i < word.size(); ++i) {
    const bool starts = i > 0 && is_capital(word[i]) && !is_capital(word[i - 1]) && word[i - 1] != '_';
    // The last capital of several starts a word, too: runwayICAOCode is "runway icao code".
    const bool ends_capitals =
        i > 1 && is_capital(word[i]) && is_capital(word[i - 1]) && i + 1 < word.size() && is_small(word[i + 1]);
    if (starts || ends_capitals) words += ' ';
    split = split || starts || word[i] == '_';
    words += word[i] == '_' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(word[i])));
  }
  return split ? words : std::string(word);
}

}  // namespace

std::string split_identifiers(std::string_view text) {
  std::string split;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(" \t", begin), text.size());
    if (end > begin) split += identifier_words(text.substr(begin, end - begin));
    if (end < text.size()) split += text[end];
    begin = end + 1;
  }
  return split;
}

int64_t longest_word(std::string_view text) {
  int64_t longest = 0, here = 0;
  for (const char c : text) {
    const bool continues_character = (static_cast<unsigned char>(c) & 0xC0) == 0x80;
    here = c == ' ' || c == '\t' ? 0 : here + (continues_character ? 0 : 1);
    longest = std::max(longest, here);
  }
  return longest;
}

}  // namespace fovea
