#include "view/terminal_text.h"

#include <gtest/gtest.h>

#include "text/utf8.h"

namespace fovea {
namespace {

TEST(TerminalText, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width(""), 0);
  EXPECT_EQ(display_width("März"), 4);
  EXPECT_EQ(display_width("北京"), 4);
  EXPECT_EQ(display_width("ｆｕｌｌ"), 8);  // fullwidth Latin
  EXPECT_EQ(display_width("ｶﾅ"), 2);        // halfwidth kana
  EXPECT_EQ(display_width("한국"), 4);
  EXPECT_EQ(display_width("Привет"), 6);
  EXPECT_EQ(display_width("…→█"), 3);  // ambiguous
}

TEST(TerminalText, CombiningMarksTakeNoColumn) {
  EXPECT_EQ(display_width("e\u0301"), 1);
  EXPECT_EQ(display_width("بَيْتٍ"), 3);    // three letters with diacritics
  EXPECT_EQ(display_width("हिन्दी"), 5);  // Devanagari: of the marks only the virama
  EXPECT_EQ(display_width("a\u200d\ufe0fb\u200b"), 2);
  EXPECT_EQ(display_width("\u2068ab\u2069"), 2);
}

TEST(TerminalText, EmojiTakeTwoColumns) {
  EXPECT_EQ(display_width("🙂"), 2);
  EXPECT_EQ(display_width("👩‍👧"), 4);  // joined of two
  EXPECT_EQ(display_width("🇩🇪"), 2);           // a flag of two letters
}

TEST(TerminalText, DirectionIsThatOfTheFirstStrongCharacter) {
  EXPECT_TRUE(is_rtl("بيت"));
  EXPECT_TRUE(is_rtl("שלום"));
  EXPECT_TRUE(is_rtl("12. بيت house"));
  EXPECT_FALSE(is_rtl("house بيت"));
  EXPECT_TRUE(has_rtl("house بيت"));
  EXPECT_FALSE(is_rtl("٢٠١٥ - 25"));  // Arabic digits have no strong direction
  EXPECT_FALSE(is_rtl(""));
  EXPECT_FALSE(has_rtl("北京 März"));
}

TEST(TerminalText, OnlyRightToLeftTextIsIsolated) {
  EXPECT_EQ(isolate("house"), "house");
  EXPECT_EQ(isolate("بيت"), "\u2068بيت\u2069");
}

TEST(TerminalText, NothingTheTerminalObeysIsLeft) {
  EXPECT_EQ(harmless("\033[31mred"), "␛[31mred");
  EXPECT_EQ(harmless(std::string_view("a\0b\tc\nd\x7f", 8)), "a␀b␉c␊d␡");
  EXPECT_EQ(harmless("\u009b31m"), "\uFFFD31m");  // CSI in one character
  EXPECT_EQ(harmless("\x9b\xff"), "\uFFFD\uFFFD");
  EXPECT_EQ(harmless("a\u202eb\u2066c\u2028d"), "a\uFFFDb\uFFFDc\uFFFDd");
  EXPECT_EQ(harmless("\u0301"), "\u25cc\u0301");  // it would combine with the text before it
  EXPECT_EQ(harmless("März 北京 بيت 🙂"), "März 北京 بيت 🙂");
}

TEST(TerminalText, AsciiSpellsOutTheRest) {
  EXPECT_EQ(harmless("März", true), "M\\u00e4rz");
  EXPECT_EQ(harmless("🙂", true), "\\U0001f642");
  EXPECT_EQ(harmless("\033", true), "\\u241b");
}

TEST(TerminalText, TruncatesToWholeClusters) {
  EXPECT_EQ(truncate_to_width("house", 5), "house");
  EXPECT_EQ(truncate_to_width("houses", 5), "hous…");
  EXPECT_EQ(truncate_to_width("北京大学", 6), "北京…");  // the ellipsis leaves 5 columns, enough for two characters
  EXPECT_EQ(truncate_to_width("北京大学", 5), "北京…");
  EXPECT_EQ(truncate_to_width("e\u0301e\u0301e\u0301", 2), "e\u0301…");
  EXPECT_EQ(truncate_to_width("houses", 0), "");
  for (int64_t width = 0; width < 12; ++width)
    EXPECT_LE(display_width(truncate_to_width("a北b京🙂e\u0301xyz", width)), width);
}

TEST(TerminalText, PadsToAWidth) {
  EXPECT_EQ(pad_right("北", 4), "北  ");
  EXPECT_EQ(pad_left("e\u0301", 3), "  e\u0301");
  EXPECT_EQ(pad_left("house", 3), "house");
}

TEST(TerminalText, ClustersKeepMarksWithTheirBase) {
  EXPECT_EQ(clusters("ae\u0301b"), (std::vector<std::string>{"a", "e\u0301", "b"}));
}

}  // namespace
}  // namespace fovea
