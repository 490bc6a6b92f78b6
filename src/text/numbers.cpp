// Numbers in words: American English, and Chinese as spoken, with 两.

#include "base/error.h"
#include "text/generators.h"

namespace fovea {

namespace {

constexpr uint64_t kLimit = 1'000'000'000'000;

struct Scale {
  uint64_t value;
  std::string_view name;
};

constexpr std::string_view kSmall[] = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                       "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                       "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::string_view kTens[] = {"",      "",      "twenty",  "thirty", "forty",
                                      "fifty", "sixty", "seventy", "eighty", "ninety"};

// 1 to 999.
std::string english_hundreds(uint64_t number) {
  std::string words;
  if (number >= 100) {
    words = fmt::format("{} hundred", kSmall[number / 100]);
    number %= 100;
    if (number == 0) return words;
    words += ' ';
  }
  if (number < 20) return words += kSmall[number];
  words += kTens[number / 10];
  if (number % 10 != 0) words += fmt::format("-{}", kSmall[number % 10]);
  return words;
}

// A group of four digits, 1 to 9999. Zeros between two digits are spoken once, zeros at the end never. `first` is true
// for the leading group, in which ten is 十 and not 一十.
std::string chinese_group(uint64_t number, bool first) {
  constexpr std::string_view kDigits[] = {"", "一", "二", "三", "四", "五", "六", "七", "八", "九"};
  constexpr std::string_view kUnits[] = {"千", "百", "十", ""};
  constexpr uint64_t kValues[] = {1000, 100, 10, 1};
  std::string words;
  bool zero = false;
  for (int place = 0; place < 4; ++place) {
    const uint64_t digit = number / kValues[place] % 10;
    if (digit == 0) {
      zero = !words.empty();
      continue;
    }
    if (zero) words += "零";
    zero = false;
    const bool bare_ten = digit == 1 && kValues[place] == 10 && first && words.empty();
    const bool two = digit == 2 && kValues[place] == 1000;
    if (!bare_ten) words += two ? "两" : kDigits[digit];
    words += kUnits[place];
  }
  return words;
}

}  // namespace

std::string english_number(uint64_t number) {
  check(number < kLimit, "numbers: expected a number below {}, got {}", kLimit, number);
  if (number == 0) return std::string(kSmall[0]);
  std::string words;
  for (const auto& [value, name] :
       {Scale{1'000'000'000, " billion"}, {1'000'000, " million"}, {1000, " thousand"}, {1, ""}}) {
    const uint64_t group = number / value % 1000;
    if (group == 0) continue;
    if (!words.empty()) words += ' ';
    words += english_hundreds(group);
    words += name;
  }
  return words;
}

std::string chinese_number(uint64_t number) {
  check(number < kLimit, "numbers: expected a number below {}, got {}", kLimit, number);
  if (number == 0) return "零";
  std::string words;
  bool gap = false;  // the group before was zero
  for (const auto& [value, name] : {Scale{100'000'000, "亿"}, {10'000, "万"}, {1, ""}}) {
    const uint64_t group = number / value % 10'000;
    if (group == 0) {
      gap = true;
      continue;
    }
    const bool first = words.empty();
    if (!first && (gap || group < 1000)) words += "零";
    gap = false;
    words += group == 2 && value > 1 ? "两" : chinese_group(group, first);
    words += name;
  }
  return words;
}

}  // namespace fovea
