#include "text/generators.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <sstream>

#include "support.h"
#include "text/utf8.h"

namespace fovea {
namespace {

TEST(Generators, EnglishNumbers) {
  const std::map<uint64_t, std::string> known = {
      {0, "zero"},
      {7, "seven"},
      {13, "thirteen"},
      {20, "twenty"},
      {42, "forty-two"},
      {100, "one hundred"},
      {115, "one hundred fifteen"},
      {999, "nine hundred ninety-nine"},
      {1000, "one thousand"},
      {1001, "one thousand one"},
      {1234, "one thousand two hundred thirty-four"},
      {100'000, "one hundred thousand"},
      {1'000'010, "one million ten"},
      {999'999'999, "nine hundred ninety-nine million nine hundred ninety-nine thousand nine hundred ninety-nine"},
      {2'000'000'012, "two billion twelve"}};
  for (const auto& [number, words] : known) EXPECT_EQ(english_number(number), words);
  EXPECT_ERROR(english_number(1'000'000'000'000), "numbers: expected a number below 1000000000000");
}

TEST(Generators, ChineseNumbers) {
  const std::map<uint64_t, std::string> known = {{0, "零"},
                                                 {2, "二"},
                                                 {10, "十"},
                                                 {12, "十二"},
                                                 {20, "二十"},
                                                 {105, "一百零五"},
                                                 {110, "一百一十"},
                                                 {200, "二百"},
                                                 {1010, "一千零一十"},
                                                 {1100, "一千一百"},
                                                 {2002, "两千零二"},
                                                 {2222, "两千二百二十二"},
                                                 {10'000, "一万"},
                                                 {10'500, "一万零五百"},
                                                 {15'000, "一万五千"},
                                                 {20'000, "两万"},
                                                 {22'000, "两万两千"},
                                                 {100'000, "十万"},
                                                 {101'000, "十万一千"},
                                                 {100'010, "十万零一十"},
                                                 {120'000, "十二万"},
                                                 {1'150'000, "一百一十五万"},
                                                 {20'020'000, "两千零二万"},
                                                 {100'000'000, "一亿"},
                                                 {100'000'001, "一亿零一"},
                                                 {100'100'000, "一亿零一十万"},
                                                 {123'456'789, "一亿两千三百四十五万六千七百八十九"},
                                                 {200'000'000, "两亿"},
                                                 {100'005'000, "一亿零五千"},
                                                 {1'000'000'000, "十亿"}};
  for (const auto& [number, words] : known) EXPECT_EQ(chinese_number(number), words) << number;
}

// Parses Chinese numerals by adding up their values.
uint64_t value_of(const std::string& words) {
  uint64_t total = 0, group = 0, digit = 0;
  for (const auto& [value, begin, end] : code_points(words)) {
    constexpr std::u32string_view kDigits = U"零一二三四五六七八九";
    if (const size_t at = kDigits.find(value); at != std::u32string_view::npos) digit = at;
    if (value == U'两') digit = 2;
    const uint64_t unit = value == U'十' ? 10 : value == U'百' ? 100 : value == U'千' ? 1000 : 0;
    if (unit) group += unit * (unit == 10 && digit == 0 ? 1 : digit);
    const uint64_t scale = value == U'万' ? 10'000 : value == U'亿' ? 100'000'000 : 0;
    if (scale) total += (group + digit) * scale;
    if (scale) group = 0;
    if (unit || scale) digit = 0;
  }
  return total + group + digit;
}

TEST(Generators, ChineseNumbersReadBack) {
  Random random(5);
  for (uint64_t i = 0; i < 30'000; ++i) {
    const uint64_t number = i < 20'000 ? i : random.below(1'000'000'000'000);
    const std::string words = chinese_number(number);
    EXPECT_EQ(value_of(words), number) << words;
    EXPECT_EQ(words.find("零零"), std::string::npos) << words;
    if (number) {
      EXPECT_FALSE(words.ends_with("零")) << words;
    }
  }
}

TEST(Generators, DatesInManyLanguages) {
  const auto has = [](int y, int m, int d, const std::string& text) {
    const auto forms = written_dates(y, m, d);
    return std::find(forms.begin(), forms.end(), text) != forms.end();
  };
  for (const char* text : {"March 3, 1997",
                           "3 March 1997",
                           "Monday, March 3, 1997",
                           "March 3rd, 1997",
                           "the 3rd of March 1997",
                           "Mar 3, 1997",
                           "3/3/1997",
                           "03/03/1997",
                           "1997/03/03",
                           "3. März 1997",
                           "Montag, den 3. März 1997",
                           "03.03.1997",
                           "3 mars 1997",
                           "lundi 3 mars 1997",
                           "3 de marzo de 1997",
                           "lunes, 3 de marzo de 1997",
                           "lunedì 3 marzo 1997",
                           "segunda-feira, 3 de março de 1997",
                           "maandag 3 maart 1997",
                           "понедельник, 3 марта 1997 года",
                           "1997年3月3日",
                           "1997年3月3日星期一",
                           "一九九七年三月三日",
                           "1997年3月3日（月）",
                           "平成9年3月3日",
                           "1997년 3월 3일 월요일"})
    EXPECT_TRUE(has(1997, 3, 3, text)) << text;
  EXPECT_TRUE(has(2001, 2, 1, "1er février 2001"));
  EXPECT_TRUE(has(2001, 2, 1, "1º febbraio 2001"));
  EXPECT_TRUE(has(2011, 11, 11, "November 11th, 2011"));
  EXPECT_TRUE(has(2012, 12, 22, "the 22nd of December 2012"));
  EXPECT_TRUE(has(2012, 12, 31, "二〇一二年十二月三十一日"));
  EXPECT_TRUE(has(2024, 2, 29, "Thursday, 29 February 2024"));
  EXPECT_TRUE(has(1989, 1, 7, "昭和64年1月7日"));
  EXPECT_TRUE(has(1989, 1, 8, "平成元年1月8日"));
  EXPECT_TRUE(has(2019, 5, 1, "令和元年5月1日（水）"));
  EXPECT_TRUE(has(1900, 1, 1, "明治33年1月1日"));
  EXPECT_ERROR(written_dates(2023, 2, 29), "dates: expected a day from 1900 on, got 2023-2-29");
  EXPECT_ERROR(written_dates(1899, 2, 2), "dates: expected a day from 1900 on");
}

TEST(Generators, NoDateHasTwoMeanings) {
  namespace chrono = std::chrono;
  const chrono::sys_days first = chrono::year(2018) / 12 / 1, after = chrono::year(2020) / 2 / 1;
  std::map<std::string, chrono::sys_days> meaning;
  for (chrono::sys_days day = first; day < after; day += chrono::days(1)) {
    const chrono::year_month_day date = day;
    for (const std::string& text : written_dates(int{date.year()}, static_cast<int>(unsigned{date.month()}),
                                                 static_cast<int>(unsigned{date.day()})))
      EXPECT_EQ(meaning.emplace(text, day).first->second, day) << text;
  }
}

TEST(Generators, ReverseReverses) {
  const ParallelLines lines = generate("reverse", 200, 1);
  for (size_t i = 0; i < lines.source.size(); ++i) {
    EXPECT_EQ(std::string(lines.source[i].rbegin(), lines.source[i].rend()), lines.target[i]);
    EXPECT_LE(lines.source[i].size(), 39u);
  }
  EXPECT_NE(lines.source[0], lines.source[1]);
}

TEST(Generators, PairsDependOnSeedAndPlaceAlone) {
  for (const Generator& generator : generators()) {
    const ParallelLines few = generate(generator.name, 20, 7), many = generate(generator.name, 300, 7);
    EXPECT_TRUE(std::equal(few.source.begin(), few.source.end(), many.source.begin()));
    EXPECT_TRUE(std::equal(few.target.begin(), few.target.end(), many.target.begin()));
    EXPECT_NE(few.source, generate(generator.name, 20, 8).source);
    ASSERT_EQ(many.source.size(), 300u);
    ASSERT_EQ(many.target.size(), 300u);
    for (size_t i = 0; i < 300; ++i) {
      EXPECT_FALSE(many.source[i].empty() || many.target[i].empty());
      EXPECT_EQ(find_invalid_utf8(many.source[i]), std::string::npos);
      EXPECT_EQ(many.source[i].find('%'), std::string::npos);
    }
  }
  const ParallelLines numbers = generate("numbers", 100, 3);
  for (size_t i = 0; i < 100; ++i) EXPECT_EQ(numbers.target[i], english_number(std::stoull(numbers.source[i])));
  EXPECT_ERROR(generate("poems", 1, 1),
               "there is no task \"poems\"; expected one of dates, numbers, numbers-zh, reverse");
}

}  // namespace
}  // namespace fovea
