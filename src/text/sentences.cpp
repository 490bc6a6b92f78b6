#include "text/sentences.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace fovea {

namespace {

bool ends_chinese_sentence(char32_t c) { return c == U'。' || c == U'！' || c == U'？'; }
bool ends_western_sentence(char32_t c) { return c == U'.' || c == U'!' || c == U'?' || c == U'…'; }
bool closes(char32_t c) { return std::u32string_view(U"\"')]}”’»」』）").find(c) != std::u32string_view::npos; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr std::array<std::string_view, 25> kAbbreviations = {
    "al", "capt", "cf", "col", "dr",  "eq",   "eqs", "fig", "figs", "gen", "gov", "hon", "lt",
    "mr", "mrs",  "ms", "mt",  "rev", "prof", "sec", "sen", "sgt",  "st",  "vs",  "resp"};
// These end sentences, too, but not before a number: "no. 5", "jan. 3".
constexpr std::array<std::string_view, 20> kBeforeNumbers = {"no",  "nos", "nr",  "vol", "pp",   "art",   "ch",
                                                             "jan", "feb", "mar", "apr", "jun",  "jul",   "aug",
                                                             "sep", "oct", "nov", "dec", "sept", "approx"};

bool is_among(const auto& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Whether the full stop at byte `at` follows the number of an item at the start of the sentence: "1. Open the file."
bool numbers_an_item(std::string_view text, size_t begin, size_t at) {
  return at > begin && at - begin <= 3 &&
         std::all_of(text.begin() + static_cast<std::ptrdiff_t>(begin), text.begin() + static_cast<std::ptrdiff_t>(at),
                     is_digit);
}

// Whether the full stop at byte `at` belongs to an abbreviation or an initial, as in "e.g. this", "Dr. Who" or "J.
// Doe"; `next` is the byte that follows after white space. A word in capitals is an acronym at the end of a sentence.
bool abbreviates(std::string_view text, size_t at, char next) {
  size_t begin = at;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  if (begin == at) return false;
  const std::string_view word = text.substr(begin, at - begin);
  if (word.size() == 1) {
    const bool dotted = begin > 0 && text[begin - 1] == '.';  // e.g., i.e., U.S.
    const bool initial = word[0] < 'a' && word[0] != 'I' && (begin == 0 || text[begin - 1] == ' ');
    return dotted || initial;
  }
  if (word.back() < 'a') return false;
  std::string lower(word);
  if (lower[0] < 'a') lower[0] = static_cast<char>(lower[0] + ('a' - 'A'));
  return is_among(kAbbreviations, lower) || (is_digit(next) && is_among(kBeforeNumbers, lower));
}

// The byte after the sentence that begins at `begin`, without the space that follows it.
size_t sentence_end(std::string_view text, size_t begin) {
  for (size_t at = begin; at < text.size();) {
    const CodePoint point = code_point_at(text, at);
    at = point.end;
    if (ends_chinese_sentence(point.value)) {
      while (at < text.size() &&
             (closes(code_point_at(text, at).value) || ends_chinese_sentence(code_point_at(text, at).value)))
        at = code_point_at(text, at).end;
      return at;
    }
    if (!ends_western_sentence(point.value)) continue;
    size_t end = at;
    while (end < text.size() &&
           (closes(code_point_at(text, end).value) || ends_western_sentence(code_point_at(text, end).value)))
      end = code_point_at(text, end).end;
    if (end < text.size() && !is_space(code_point_at(text, end).value)) continue;  // 3.5, example.org
    size_t next = end;
    while (next < text.size() && is_space(code_point_at(text, next).value)) next = code_point_at(text, next).end;
    if (next == text.size()) return end;
    const bool lower = text[next] >= 'a' && text[next] <= 'z';
    const bool goes_on = point.value == U'.' &&
                         (abbreviates(text, point.begin, text[next]) || numbers_an_item(text, begin, point.begin));
    if (lower || goes_on) continue;
    return end;
  }
  return text.size();
}

}  // namespace

std::vector<std::string_view> split_sentences(std::string_view text) {
  std::vector<std::string_view> sentences;
  for (size_t at = 0; at < text.size();) {
    if (const CodePoint point = code_point_at(text, at); is_space(point.value)) {
      at = point.end;
      continue;
    }
    const size_t end = sentence_end(text, at);
    sentences.push_back(text.substr(at, end - at));
    at = end;
  }
  return sentences;
}

std::string_view lead_sentences(std::string_view text, int64_t count) {
  size_t begin = text.size(), end = 0;
  int64_t found = 0;
  for (const std::string_view sentence : split_sentences(text)) {
    if (found++ == count) break;
    begin = std::min(begin, static_cast<size_t>(sentence.data() - text.data()));
    end = static_cast<size_t>(sentence.data() - text.data()) + sentence.size();
  }
  return found == 0 ? std::string_view() : text.substr(begin, end - begin);
}

}  // namespace fovea
