// Error rates worked out by hand.
#include "evaluate/edit.h"

#include <vector>

#include "support.h"

namespace fovea {
namespace {

ErrorRate words(const Segment& segment) { return word_error_rate({&segment, 1}); }
ErrorRate bags(const Segment& segment) { return position_independent_error_rate({&segment, 1}); }

TEST(WordErrorRate, CountsEachKindOfError) {
  const ErrorRate rate = words({"a x c d e f", {"a b c e f g"}});  // b to x, d too many, g missing
  EXPECT_EQ(rate.substitutions, 1);
  EXPECT_EQ(rate.insertions, 1);
  EXPECT_EQ(rate.deletions, 1);
  EXPECT_EQ(rate.reference_length, 6);
  EXPECT_DOUBLE_EQ(rate.percent(), 50);
}

TEST(WordErrorRate, AtTheEdges) {
  EXPECT_EQ(words({"", {"a b"}}).deletions, 2);
  EXPECT_EQ(words({"a b", {""}}).insertions, 2);
  EXPECT_DOUBLE_EQ(words({"a b", {""}}).percent(), 200);
  EXPECT_DOUBLE_EQ(words({"", {""}}).percent(), 0);
  EXPECT_DOUBLE_EQ(words({"a b c d", {"x"}}).percent(), 400);
  EXPECT_ERROR(word_error_rate({}), "word error rate: expected at least one segment");
}

// A word with two pronunciations: the closer one counts, with its own length.
TEST(WordErrorRate, OfTheReferenceWithTheFewestErrors) {
  const std::vector<Segment> segments{{"T AH M EY T OW", {"T AH M AA T OW", "T AH M EY T OW"}},
                                      {"R IY D", {"R EH D Z", "R EH D"}}};
  const ErrorRate rate = word_error_rate(segments);
  EXPECT_EQ(rate.errors(), 1);
  EXPECT_EQ(rate.reference_length, 6 + 3);
  EXPECT_DOUBLE_EQ(exact_match(segments), 50);
}

TEST(WordErrorRate, OfEqualReferencesTheFirst) {
  EXPECT_EQ(words({"a b", {"a", "a b c"}}).reference_length, 1);
  EXPECT_EQ(words({"a b", {"a b c", "a"}}).reference_length, 3);
}

TEST(PositionIndependentErrorRate, ForgivesOrderButNotNumber) {
  EXPECT_EQ(bags({"c b a", {"a b c"}}).errors(), 0);
  EXPECT_EQ(words({"c b a", {"a b c"}}).errors(), 2);
  const ErrorRate rate = bags({"a a x y", {"a b c"}});  // x and y for b and c, one a too many
  EXPECT_EQ(rate.substitutions, 2);
  EXPECT_EQ(rate.insertions, 1);
  EXPECT_EQ(rate.deletions, 0);
  EXPECT_EQ(bags({"a", {"a a b"}}).deletions, 2);
}

TEST(CharacterErrorRate, CountsCharactersNotBytes) {
  const std::vector<Segment> segments{{"Uber  den Fluß ", {"Über den Fluss"}}};  // U to Ü, ß to ss
  const ErrorRate rate = character_error_rate(segments);
  EXPECT_EQ(rate.errors(), 3);
  EXPECT_EQ(rate.reference_length, 14);
}

TEST(ExactMatch, ComparesWordForWord) {
  const std::vector<Segment> segments{{"a  b ", {"a b"}}, {"a b", {"x", "a b"}}, {"ab", {"a b"}}, {"", {""}}};
  EXPECT_DOUBLE_EQ(exact_match(segments), 75);
}

}  // namespace
}  // namespace fovea
