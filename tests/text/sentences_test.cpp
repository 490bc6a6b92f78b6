#include "text/sentences.h"

#include <gtest/gtest.h>

namespace fovea {
namespace {

using Sentences = std::vector<std::string_view>;

TEST(SplitSentences, English) {
  EXPECT_EQ(split_sentences("We do this. It works! Does it? \"Yes.\" (Always.) end"),
            (Sentences{"We do this.", "It works!", "Does it?", "\"Yes.\"", "(Always.) end"}));
  EXPECT_EQ(split_sentences("Scores rise by 3.5 points, e.g. on WMT. See fovea.org for more."),
            (Sentences{"Scores rise by 3.5 points, e.g. on WMT.", "See fovea.org for more."}));
  EXPECT_EQ(split_sentences("As Smith et al. (2020) say, cf. Fig. 3, J. Doe agrees. So do I. Good..."),
            (Sentences{"As Smith et al. (2020) say, cf. Fig. 3, J. Doe agrees.", "So do I.", "Good..."}));
  EXPECT_EQ(split_sentences("It ends in etc. Dr. Who reads MR. In the U.S. Army."),
            (Sentences{"It ends in etc.", "Dr. Who reads MR.", "In the U.S. Army."}));
}

TEST(SplitSentences, AbbreviationsBeforeNumbersAndItems) {
  EXPECT_EQ(split_sentences("He said no. Then he left on Jan. 3 for No. 5 of Gen. Lee. It was Mar. It rained."),
            (Sentences{"He said no.", "Then he left on Jan. 3 for No. 5 of Gen. Lee.", "It was Mar.", "It rained."}));
  EXPECT_EQ(split_sentences("1. Open the file. 2. Save it in 1999. Then go."),
            (Sentences{"1. Open the file.", "2. Save it in 1999.", "Then go."}));
  EXPECT_EQ(split_sentences("Wait... What? \"Go!\" She went... and came."),
            (Sentences{"Wait...", "What?", "\"Go!\"", "She went... and came."}));
}

TEST(SplitSentences, Chinese) {
  EXPECT_EQ(split_sentences("我爱你。你呢？！“好。”完"), (Sentences{"我爱你。", "你呢？！", "“好。”", "完"}));
  EXPECT_EQ(split_sentences("版本3.5发布了。 很好。"), (Sentences{"版本3.5发布了。", "很好。"}));
}

TEST(SplitSentences, NothingAndMuch) {
  EXPECT_TRUE(split_sentences("").empty());
  EXPECT_TRUE(split_sentences(" \t ").empty());
  EXPECT_EQ(split_sentences("  one  ").size(), 1u);
  EXPECT_EQ(split_sentences(std::string(100'000, '.')).size(), 1u);
  std::string stops;
  for (int i = 0; i < 20'000; ++i) stops += "Go. ";
  EXPECT_EQ(split_sentences(stops).size(), 20'000u);
}

TEST(LeadSentences, AreTheFirst) {
  const std::string text = " One is here. Two is there.  Three.";
  EXPECT_EQ(lead_sentences(text, 1), "One is here.");
  EXPECT_EQ(lead_sentences(text, 2), "One is here. Two is there.");
  EXPECT_EQ(lead_sentences(text, 9), "One is here. Two is there.  Three.");
  EXPECT_EQ(lead_sentences("", 1), "");
}

}  // namespace
}  // namespace fovea
