#include "evaluate/slots.h"

#include "support.h"

namespace fovea {
namespace {

using Pairs = std::vector<SlotValue>;

TEST(Slots, AreParsed) {
  EXPECT_EQ(parse_slots("time = 1:15  pm ; name = Puerto 27"), (Pairs{{"time", "1:15 pm"}, {"name", "Puerto 27"}}));
  EXPECT_EQ(parse_slots(""), Pairs{});
  EXPECT_EQ(parse_slots(" ; ; "), Pairs{});
  EXPECT_EQ(parse_slots("a b ; c = ; = d ; e = f = g"), (Pairs{{"", "a b"}, {"c", ""}, {"", "d"}, {"e", "f = g"}}));
}

TEST(Slots, ValuesAndPairsAreCounted) {
  const std::vector<Segment> segments{{"b = 2 ; a = 1", {"a = 1 ; b = 2"}},  // in another order
                                      {"x = 3 ; x = 3", {"c = 3"}},          // another slot; a repeated pair
                                      {"", {"d = 4"}}};
  const SlotScore score = slot_score(segments);
  EXPECT_EQ(score.pairs.matches, 2);
  EXPECT_EQ(score.values.matches, 3);
  EXPECT_EQ(score.values.hypotheses, 4);
  EXPECT_EQ(score.values.references, 4);
  EXPECT_EQ(score.line(),
            "slot values: F1 = 75.00 (P = 75.00 R = 75.00); slot pairs: F1 = 50.00 (P = 50.00 R = 50.00)");
}

TEST(Slots, TheBestReferenceCounts) {
  const std::vector<Segment> segments{{"a = 1", {"b = 1 ; c = 2", "a = 1"}}};
  EXPECT_DOUBLE_EQ(slot_score(segments).pairs.f1(), 100);
  EXPECT_DOUBLE_EQ(slot_score(std::vector<Segment>{{"", {""}}}).pairs.f1(), 0);
  EXPECT_ERROR(slot_score({}), "slots: expected at least one segment, got none");
}

}  // namespace
}  // namespace fovea
