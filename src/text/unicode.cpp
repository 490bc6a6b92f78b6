#include "text/unicode.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "text/unicode_tables.h"
#include "text/utf8.h"

namespace fovea::unicode {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSmallSigma = 0x3C3, kFinalSigma = 0x3C2;
constexpr char32_t kCapitalDottedI = 0x130, kDotAbove = 0x307;

template <class R> const R* find(std::span<const R> ranges, char32_t c) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), c,
                                      [](char32_t code, const R& range) { return code < range.first; });
  if (after == ranges.begin()) return nullptr;
  const R& range = *std::prev(after);
  return c <= range.last ? &range : nullptr;
}

char32_t lower(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  const CaseRange* range = find(std::span<const CaseRange>(kLower), c);
  if (!range || (c - range->first) % static_cast<char32_t>(range->step) != 0) return c;
  return static_cast<char32_t>(static_cast<int32_t>(c) + range->shift);
}

// Whether the character has case. All Greek letters count, because some, such as ΐ, have only capitals of several code
// points.
bool is_cased(char32_t c) {
  if (lower(c) != c || (c >= 0x388 && c <= 0x3FF) || (c >= 0x1F00 && c <= 0x1FFC)) return true;
  return std::any_of(std::begin(kLower), std::end(kLower), [c](const CaseRange& range) {
    const auto upper = static_cast<char32_t>(static_cast<int32_t>(c) - range.shift);
    return upper >= range.first && upper <= range.last && lower(upper) == c;
  });
}

// The common characters with Unicode's property Case_Ignorable: marks, apostrophes, points inside a word.
bool is_case_ignorable(char32_t c) {
  return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xA8 || c == 0xAD || c == 0xAF ||
         c == 0xB4 || c == 0xB7 || c == 0xB8 || (c >= 0x2B0 && c <= 0x36F) || c == 0x387 || c == 0x2018 ||
         c == 0x2019 || c == 0x2024 || c == 0x2027 || (c >= 0x200B && c <= 0x200F) || (c >= 0x1F3FB && c <= 0x1F3FF);
}

// Whether a capital sigma ends a word: a cased letter precedes it and none follows (Unicode 3.13, Final_Sigma).
bool ends_word(std::u32string_view text, size_t sigma) {
  size_t before = sigma;
  while (before > 0 && is_case_ignorable(text[before - 1])) --before;
  size_t after = sigma + 1;
  while (after < text.size() && is_case_ignorable(text[after])) ++after;
  return before > 0 && is_cased(text[before - 1]) && !(after < text.size() && is_cased(text[after]));
}

}  // namespace

std::u32string decode(std::string_view utf8) {
  std::u32string text;
  text.reserve(utf8.size());
  for (const CodePoint& point : code_points(utf8)) text += point.value;
  return text;
}

std::string encode(std::u32string_view text) {
  std::string utf8;
  utf8.reserve(text.size());
  for (const char32_t c : text) append_code_point(utf8, c);
  return utf8;
}

bool is_space(char32_t c) {
  return (c >= 0x9 && c <= 0xD) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

bool is_punctuation(char32_t c) { return find(std::span<const Range>(kPunctuation), c); }
bool is_symbol(char32_t c) { return find(std::span<const Range>(kSymbols), c); }
bool is_number(char32_t c) { return find(std::span<const Range>(kNumbers), c); }

std::u32string lower(std::u32string_view text) {
  std::u32string low;
  low.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kCapitalSigma) {
      low += ends_word(text, i) ? kFinalSigma : kSmallSigma;
    } else if (text[i] == kCapitalDottedI) {
      low += {U'i', kDotAbove};
    } else {
      low += lower(text[i]);
    }
  }
  return low;
}

std::u32string_view strip_end(std::u32string_view text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string_view strip(std::u32string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return strip_end(text);
}

std::vector<std::u32string_view> split(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && !is_space(text[end])) ++end;
    if (end > at) words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

}  // namespace fovea::unicode
