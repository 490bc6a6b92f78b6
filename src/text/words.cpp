#include "text/words.h"

#include <algorithm>

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
