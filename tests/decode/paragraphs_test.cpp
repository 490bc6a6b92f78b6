// Texts are split into parts and put together again.
#include "decode/paragraphs.h"

#include <gtest/gtest.h>

#include "decode/test_models.h"
#include "support.h"
#include "text/utf8.h"

namespace fovea {
namespace {

using Texts = std::vector<std::string>;

int64_t count_words(std::string_view text) {
  int64_t words = 0;
  bool inside = false;
  for (const auto& [value, begin, end] : code_points(text)) {
    words += is_unspaced(value) || (!is_space(value) && !inside) ? 1 : 0;
    inside = !is_space(value) && !is_unspaced(value);
  }
  return words;
}

Texts parts_of(const std::string& text, SplitLimits limits) {
  Texts parts;
  for (const auto& [begin, end] : split_text(text, limits, count_words))
    parts.push_back(text.substr(begin, end - begin));
  return parts;
}

TEST(SplitText, ShortLinesStayWhole) {
  EXPECT_EQ(parts_of("One is. Two is.", {4, 100}), Texts{"One is. Two is."});
  EXPECT_EQ(parts_of("One is. Two is.", {3, 100}), (Texts{"One is.", "Two is."}));
  EXPECT_EQ(parts_of("One is. Two is.", {0, 1}), Texts{"One is. Two is."});  // never
}

TEST(SplitText, SentencesOfSeveralScripts) {
  EXPECT_EQ(parts_of("  Mr. Smith paid $3.50 for it... \"Really?\" he asked. Yes!", {3, 100}),
            (Texts{"Mr. Smith paid $3.50 for it...", "\"Really?\" he asked.", "Yes!"}));
  EXPECT_EQ(parts_of("他来了。“你好！”她说……然后走了？", {3, 100}),
            (Texts{"他来了。", "“你好！”", "她说……然后走了？"}));
}

TEST(SplitText, LineBreaksSeparate) {
  EXPECT_EQ(parts_of("a b\n\n  c d\r\ne", {100, 100}), (Texts{"a b", "c d", "e"}));
  EXPECT_EQ(parts_of("\n \n", {100, 100}), Texts{"\n \n"});
  EXPECT_EQ(parts_of("", {100, 100}), Texts{""});
}

TEST(SplitText, ASentenceThatIsTooLongIsSplitFurther) {
  EXPECT_EQ(parts_of("one two three, four five six seven", {2, 5}), (Texts{"one two three,", "four five six seven"}));
  EXPECT_EQ(parts_of("一二三四五，六七八九十", {2, 7}), (Texts{"一二三四五，", "六七八九十"}));
  EXPECT_EQ(parts_of("一二三四五六七八九十", {2, 4}), (Texts{"一二三四", "五六七八", "九十"}));
  // Nothing is lost and no part is too long, whatever the text.
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 7 == 0 ? "长，" : i % 3 == 0 ? "word; " : "x";
  std::string together;
  for (const std::string& part : parts_of(text, {10, 50})) {
    EXPECT_LE(count_words(part), 50);
    together += part;
  }
  std::erase(text, ' ');
  std::erase(together, ' ');
  EXPECT_EQ(together, text);
}

std::string joined(const std::string& text, SplitLimits limits, const std::vector<std::string_view>& translations) {
  return join_parts(text, split_text(text, limits, count_words), translations);
}

TEST(JoinParts, LayoutIsThatOfTheSource) {
  EXPECT_EQ(joined("  A b. C d.  ", {2, 100}, {"Eins.", "Zwei."}), "  Eins. Zwei.");
  EXPECT_EQ(joined("A b. C d.", {2, 100}, {"甲。", "乙。"}), "甲。乙。");
  EXPECT_EQ(joined("甲。乙。", {1, 100}, {"A.", "B."}), "A. B.");
  EXPECT_EQ(joined("甲。乙。", {1, 100}, {"", "B."}), "B.");
  EXPECT_EQ(joined("a\n\n\tb\r\n c \n", {9, 100}, {"x", "y", "z"}), "x\n\n\ty\r\n z \n");
}

TEST(JoinTranslations, CandidatesAreJoinedInTheirOrder) {
  const auto translation = [](const Texts& texts, double score) {
    Translation made;
    made.source_tokens = 3;
    for (const std::string& text : texts) {
      Hypothesis hypothesis;
      hypothesis.score = hypothesis.log_probability = score;
      hypothesis.finished = true;
      made.candidates.push_back({text, hypothesis});
    }
    return made;
  };
  const std::string text = "A. B.";
  const std::vector<TextPart> parts = {{0, 2}, {3, 5}};
  std::vector<Translation> translations = {translation({"a", "aa"}, -1), translation({"b"}, -2)};
  translations[1].truncated = true;
  const Translation whole = join_translations(text, parts, translations);
  ASSERT_EQ(whole.candidates.size(), 2u);
  EXPECT_EQ(whole.text(), "a b");
  EXPECT_EQ(whole.candidates[1].text, "aa b");
  EXPECT_DOUBLE_EQ(whole.candidates[0].hypothesis.log_probability, -3);
  EXPECT_EQ(whole.source_tokens, 6);
  EXPECT_TRUE(whole.truncated);
  EXPECT_TRUE(whole.candidates[0].hypothesis.finished);
  EXPECT_ERROR(join_translations(text, parts, std::span(translations).first(1)),
               "expected a translation for each of 2 parts");
}

}  // namespace
}  // namespace fovea
