#include "view/svg_text.h"

#include <algorithm>
#include <iterator>

#include "text/utf8.h"

namespace fovea {

namespace {

struct Range {
  char32_t first, last;
};

template <size_t N> bool among(char32_t value, const Range (&ranges)[N]) {
  return std::any_of(std::begin(ranges), std::end(ranges),
                     [value](Range r) { return r.first <= value && value <= r.last; });
}

// Combining and invisible characters.
constexpr Range kNoWidth[] = {{0x0300, 0x036F}, {0x0591, 0x05BD}, {0x064B, 0x065F}, {0x0670, 0x0670}, {0x200B, 0x200F},
                              {0x202A, 0x202E}, {0x2060, 0x2069}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
// Characters as wide as they are high: Chinese, Japanese, Korean, full-width forms, pictographs.
constexpr Range kWide[] = {{0x1100, 0x115F}, {0x2E80, 0xA4CF}, {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},
                           {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr Range kRightToLeft[] = {{0x0590, 0x065F}, {0x066D, 0x06EF},   {0x06FA, 0x08FF},  {0xFB1D, 0xFDFF},
                                  {0xFE70, 0xFEFE}, {0x10800, 0x10FFF}, {0x1E800, 0x1EFFF}};
// Punctuation, symbols and digits; every other character counts as a letter.
constexpr Range kNoLetters[] = {
    {0x0000, 0x0040}, {0x005B, 0x0060}, {0x007B, 0x00BF}, {0x0660, 0x066C},
    {0x06F0, 0x06F9}, {0x2000, 0x2BFF}, {0x3000, 0x303F}, {0xFF00, 0xFF20},
};

double em(char32_t c) {
  if (among(c, kNoWidth)) return 0.0;
  if (among(c, kWide)) return 1.0;
  constexpr std::string_view kNarrow = "iljtfrI.,:;'|!()[] /-", kBroad = "mwMW@%";
  if (c < 0x80 && kNarrow.find(static_cast<char>(c)) != kNarrow.npos) return 0.38;
  if (c < 0x80 && kBroad.find(static_cast<char>(c)) != kBroad.npos) return 0.92;
  if (c >= 'A' && c <= 'Z') return 0.7;
  return 0.61;
}

// The number of right-to-left letters minus the number of other letters.
int right_to_left_surplus(std::string_view text) {
  int surplus = 0;
  for (const CodePoint& c : code_points(text)) {
    if (!among(c.value, kNoLetters)) surplus += among(c.value, kRightToLeft) ? 1 : -1;
  }
  return surplus;
}

}  // namespace

double ems(std::string_view text) {
  double sum = 0;
  for (const CodePoint& c : code_points(text)) sum += em(c.value);
  return sum;
}

std::string shorten(std::string_view text, double max_ems) {
  if (ems(text) <= max_ems) return std::string(text);
  double sum = 1.0;  // the ellipsis
  size_t end = 0;
  for (const CodePoint& c : code_points(text)) {
    sum += em(c.value);
    if (sum > max_ems) break;
    end = c.end;
  }
  return std::string(text.substr(0, end)) + "…";
}

std::string shown(const Label& label) {
  for (const CodePoint& c : code_points(label.text)) {
    if (!is_space(c.value)) return label.text;
  }
  return "␣";
}

bool is_right_to_left(std::string_view text) { return right_to_left_surplus(text) > 0; }

bool is_right_to_left(std::span<const Label> sentence) {
  int sum = 0;
  for (const Label& label : sentence) sum += label.mark ? 0 : right_to_left_surplus(label.text);
  return sum > 0;
}

std::string isolated(std::string_view text) {
  for (const CodePoint& c : code_points(text)) {
    if (among(c.value, kRightToLeft) || (c.value >= 0x202A && c.value <= 0x202E)) {
      return "\u2068" + std::string(text) + "\u2069";
    }
  }
  return std::string(text);
}

}  // namespace fovea
