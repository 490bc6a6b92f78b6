// Corner cases of the tokenizers, and Python's string semantics.
#include "evaluate/tokenize.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "support.h"
#include "text/unicode.h"

namespace fovea {
namespace {

std::string tokens(std::string_view line, Tokenizer tokenizer, bool lowercase = false) {
  return fmt::format("{}", fmt::join(tokenize(line, tokenizer, lowercase), " "));
}

TEST(Tokenize, ThirteenA) {
  EXPECT_EQ(tokens("It cost $1,000.50 (or 3-4 pounds), i.e. too much.", Tokenizer::k13a),
            "It cost $ 1,000.50 ( or 3 - 4 pounds ) , i . e . too much .");
  EXPECT_EQ(tokens("well-known o'clock -5 1999.", Tokenizer::k13a), "well-known o'clock -5 1999 .");
  EXPECT_EQ(tokens("&quot;a&quot; &amp;lt; &gt; <skipped>b", Tokenizer::k13a), "\" a \" < > b");
  EXPECT_EQ(tokens("joined-\nline\nbreak", Tokenizer::k13a), "joinedline break");
}

TEST(Tokenize, International) {
  EXPECT_EQ(tokens("„Ja“, 3,5 % – 10€", Tokenizer::kIntl), "„ Ja “ , 3,5 % – 10 €");
  EXPECT_EQ(tokens("In 1999.", Tokenizer::kIntl), "In 1999.");
}

TEST(Tokenize, Chinese) {
  EXPECT_EQ(tokens("我有3.5公斤，用Python。", Tokenizer::kZh), "我 有 3.5 公 斤 ， 用 Python 。");
  EXPECT_EQ(tokens("“a…b” 100.", Tokenizer::kZh), "“ a … b ” 100.");
  EXPECT_EQ(tokens("𠀀𠀁 😀😀", Tokenizer::kZh), "𠀀𠀁 😀😀");
}

TEST(Tokenize, CharactersAndNone) {
  EXPECT_EQ(tokens("aé 你!", Tokenizer::kChar), "a é 你 !");
  EXPECT_EQ(tokens(" a.\t b\u3000c\u00a0", Tokenizer::kNone), "a. b c");
  EXPECT_EQ(tokens("", Tokenizer::k13a), "");
}

TEST(Tokenize, NamesComeBack) {
  for (const std::string name : {"13a", "intl", "zh", "char", "none"}) EXPECT_EQ(name_of(tokenizer_named(name)), name);
}

TEST(Unicode, LowersEveryScript) {
  const auto lower = [](std::string_view text) { return unicode::encode(unicode::lower(unicode::decode(text))); };
  EXPECT_EQ(lower("ÄÖÜ ẞ ŁÓDŹ МОСКВА Ǆ Ω"), "äöü ß łódź москва ǆ ω");
  EXPECT_EQ(lower("ΟΔΥΣΣΕΥΣ. Σ ΣΑΣ'Σ"), "οδυσσευς. σ σασ'ς");
  EXPECT_EQ(lower("İ"), "i\u0307");
  EXPECT_EQ(lower("aß中1"), "aß中1");
}

TEST(Unicode, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(unicode::decode("a\xFF\xE4\xBD"
                            "b"),
            U"a\uFFFD\uFFFD\uFFFDb");
  EXPECT_EQ(unicode::decode("\xC0\x80"), U"\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(unicode::decode("\xED\xA0\x80"), U"\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(unicode::decode("\xF0\x9F\x98\x80"), U"\U0001F600");
  for (const char32_t c : {U'\x7F', U'\x80', U'\u07FF', U'\u0800', U'\uFFFF', U'\U00010000', U'\U0010FFFF'})
    EXPECT_EQ(unicode::decode(unicode::encode(std::u32string(1, c))), std::u32string(1, c));
}

}  // namespace
}  // namespace fovea
