#include "text/utf8.h"

#include <gtest/gtest.h>

namespace fovea {
namespace {

TEST(Utf8, DecodesEveryCodePointItEncodes) {
  for (char32_t value = 0; value <= 0x10FFFF; ++value) {
    if (value >= 0xD800 && value <= 0xDFFF) continue;
    std::string text;
    append_code_point(text, value);
    const CodePoint read = code_point_at(text, 0);
    ASSERT_EQ(read.value, value);
    ASSERT_EQ(read.end, text.size());
    ASSERT_EQ(find_invalid_utf8(text), std::string::npos);
  }
}

TEST(Utf8, FindsInvalidBytes) {
  const auto bad = [](std::string_view text) { return find_invalid_utf8(text); };
  EXPECT_EQ(bad(""), std::string::npos);
  EXPECT_EQ(bad("plain ASCII, more than eight bytes, then é 中 😀"), std::string::npos);
  EXPECT_EQ(bad("\u3000\uFFFD"), std::string::npos);
  EXPECT_EQ(bad("0123456789\xFF"), 10u);
  EXPECT_EQ(bad("abc\x80"), 3u);
  EXPECT_EQ(bad("\xC0\xAF"), 0u);          // overlong
  EXPECT_EQ(bad("\xE0\x80\xAF"), 0u);      // overlong
  EXPECT_EQ(bad("\xF0\x80\x80\xAF"), 0u);  // overlong
  EXPECT_EQ(bad("a\xED\xA0\x80"), 1u);     // a surrogate
  EXPECT_EQ(bad("\xF4\x90\x80\x80"), 0u);  // beyond U+10FFFF
  EXPECT_EQ(bad("\xF5\x80\x80\x80"), 0u);
  EXPECT_EQ(bad("\xE4\xB8"), 0u);  // truncated
  EXPECT_EQ(bad("\xE4\xB8z"), 0u);
}

TEST(Utf8, WalksOverBrokenBytesOneByOne) {
  std::u32string values;
  for (const auto& [value, begin, end] : code_points("a\xFF\xE4\xB8\u4E2D")) values += value;
  EXPECT_EQ(values, (std::u32string{U'a', kReplacement, kReplacement, kReplacement, U'\u4E2D'}));
}

TEST(Utf8, ClassifiesSpacesAndScriptsWithoutThem) {
  for (const char32_t value : std::u32string_view(U" \t\u00A0\u2003\u3000")) EXPECT_TRUE(is_space(value));
  for (const char32_t value : U"a_中\u200B") EXPECT_FALSE(is_space(value));
  for (const char32_t value : std::u32string_view(U"中文かなカ〇𠀀ไทยລາວမြန်ខ្មែរ"))
    EXPECT_TRUE(is_unspaced(value)) << static_cast<uint32_t>(value);
  for (const char32_t value : U"aé한글Ж，。 😀") EXPECT_FALSE(is_unspaced(value)) << static_cast<uint32_t>(value);
}

}  // namespace
}  // namespace fovea
