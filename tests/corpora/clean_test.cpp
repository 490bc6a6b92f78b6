// Which pairs of a corpus are dropped, and why.
#include "corpora/clean.h"

#include <gtest/gtest.h>

#include <cmath>

#include "corpora/noise.h"
#include "corpora/samples.h"
#include "support.h"
#include "text/language.h"

namespace fovea {
namespace {

std::string reason(const std::string& source, const std::string& target, const CleanOptions& options = {}) {
  Cleaner cleaner(options, "en", "zh", {});
  TextPair pair{source, target, ""};
  return std::string(cleaner.reason_to_drop(pair));
}

TEST(CleanTest, EachReason) {
  EXPECT_EQ(reason("It is a good day.", "今天天气很好。"), "");
  EXPECT_EQ(reason("", "空"), "empty");
  EXPECT_EQ(reason(" ", "空"), "empty");
  EXPECT_EQ(reason("a\x02 b", "空的"), "control characters");
  EXPECT_EQ(reason("a b", "坏\xEF\xBF\xBD字"), "control characters");
  EXPECT_EQ(reason("a <b>b</b>", "空的"), "markup");
  EXPECT_EQ(reason("a b", "空&nbsp;的"), "markup");
  EXPECT_EQ(reason("if a < b and c > d", "如果 a < b 而且 c > d 的话就好了"), "");
  EXPECT_EQ(reason("AT&T; yes", "美国电话电报公司"), "markup");  // indistinguishable from a reference
  EXPECT_EQ(reason("Tom & Jerry;", "汤姆与杰瑞"), "");
  EXPECT_EQ(reason("Windows", "Windows"), "identical sides");
  EXPECT_EQ(reason("yes", std::string(50, 'x') + " 一二三四五六七八九十"), "length ratio");
  EXPECT_EQ(reason("OK", "好的，没问题"), "");
  EXPECT_EQ(reason("This is English.", "This is English, too."), "wrong script");
  EXPECT_EQ(reason("这是中文。", "这也是中文。"), "wrong script");
  EXPECT_EQ(reason("This is Japanese.", "これはテストです。"), "wrong script");
  EXPECT_EQ(reason("Install Windows XP now", "现在安装 Windows XP 吧朋友们"), "");
  EXPECT_EQ(reason("Der Mann ist nicht in der Stadt und das ist gut.", "那个人不在城里这很好。"), "wrong language");
  std::string words = "word";
  for (int i = 0; i < 200; ++i) words += " word";
  EXPECT_EQ(reason(words, "词"), "too long");
  CleanOptions options;
  options.min_length = 3;
  EXPECT_EQ(reason("too short", "太短了", options), "too short");
}

TEST(CleanTest, OptionsDisable) {
  CleanOptions all;
  all.max_length = 0;
  all.max_ratio = 0;
  all.duplicates = all.identical = all.markup = all.language = "keep";
  all.script = 0;
  for (const char* target :
       {"<b>x</b>", "x", "Der Mann ist in der Stadt und das ist gut", "a b c d e f g h i j k l m n"}) {
    EXPECT_EQ(reason("x", target, all), "") << target;
  }
  all.markup = "strip";
  Cleaner cleaner(all, "", "", {});
  TextPair pair{"a<br/>b &amp; <i>c</i> &unknown;", "x &lt; y", ""};
  EXPECT_EQ(cleaner.reason_to_drop(pair), "");
  EXPECT_EQ(pair.source, "a b & c &unknown;");
  EXPECT_EQ(pair.target, "x < y");
}

TEST(CleanTest, Duplicates) {
  const auto kept = [](const std::string& how) {
    CleanOptions options;
    options.duplicates = how;
    Cleaner cleaner(options, "", "", {});
    std::string stays;
    for (const auto& [source, target] : std::vector<std::pair<std::string, std::string>>{
             {"a", "x y"}, {"a", "x y"}, {"a", "z"}, {"b", "x y"}, {"a x", "y"}}) {
      TextPair pair{source, target, ""};
      stays += cleaner.reason_to_drop(pair).empty() ? '1' : '0';
    }
    return stays;
  };
  EXPECT_EQ(kept("drop"), "10111");
  EXPECT_EQ(kept("drop-source"), "10011");
  EXPECT_EQ(kept("drop-target"), "10101");
  EXPECT_EQ(kept("keep"), "11111");
}

TEST(CleanTest, HeldOutTextsAreComparedWithoutCaseAndPunctuation) {
  const TemporaryFolder folder;
  HeldOutTexts held_out;
  held_out.add(folder.file("test.tsv", "How are you?\t你好吗？\n...\n"));
  Cleaner cleaner({}, "en", "zh", held_out);
  const auto dropped = [&](const std::string& source, const std::string& target) {
    TextPair pair{source, target, ""};
    return cleaner.reason_to_drop(pair) == "held out";
  };
  EXPECT_TRUE(dropped("how are you", "你怎么样"));
  EXPECT_TRUE(dropped("How do you do?", "你好吗"));
  EXPECT_FALSE(dropped("How are you all?", "你们好吗"));
  EXPECT_FALSE(dropped("!?!", "……"));  // nothing to compare
  EXPECT_ERROR(held_out.add(folder.file("missing")), "missing: cannot open");
}

TEST(LanguageTest, ScriptsAndLanguages) {
  EXPECT_DOUBLE_EQ(script_share("Привет, мир 123", "ru"), 1);
  EXPECT_DOUBLE_EQ(script_share("ab гд", "ru"), 0.5);
  EXPECT_DOUBLE_EQ(script_share("日本語のテスト", "ja"), 1);
  EXPECT_DOUBLE_EQ(script_share("123", "zh"), 1);
  EXPECT_DOUBLE_EQ(script_share("anything", "xx"), 1);
  EXPECT_DOUBLE_EQ(script_share("καλημέρα", "el-GR"), 1);
  EXPECT_DOUBLE_EQ(script_share("שלום", "en"), 0);
  EXPECT_EQ(other_language("Je ne suis pas dans la maison avec vous.", "en"), "fr");
  EXPECT_EQ(other_language("Tom lives in Boston with Mary.", "en"), "");
  EXPECT_EQ(other_language("Je suis dans la maison avec vous.", "en"), "");  // too short to tell
  EXPECT_EQ(other_language("She's Tom's sister, isn't she?", "en"), "");
  EXPECT_GT(script_share("我用Twitter。", "zh"), 0.4);
  EXPECT_EQ(other_language("Je ne suis pas dans la maison avec vous.", "fr-CA"), "");
}

TEST(NoiseTest, DualCrossEntropy) {
  const auto scored = [](double log_probability, size_t tokens) {
    Hypothesis hypothesis;
    hypothesis.log_probability = log_probability;
    hypothesis.log_probs.resize(tokens);
    return hypothesis;
  };
  EXPECT_DOUBLE_EQ(dual_cross_entropy(scored(-4, 4), scored(-6, 3)), 1 + 1.5);
  EXPECT_DOUBLE_EQ(score_limit({5, 1, 4, 2, 3}, 0.6), 3);
  EXPECT_DOUBLE_EQ(score_limit({5, 1, 4, 2, 3}, 0.001), 1);
  EXPECT_DOUBLE_EQ(score_limit({5, 1, 4, 2, 3}, 1), 5);
  EXPECT_ERROR(score_limit({1}, 0), "--keep: expected a share above 0");
}

}  // namespace
}  // namespace fovea
