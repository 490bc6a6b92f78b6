// The F-score of slots, for output of the form `slot = value ; slot = value`: over the values alone, and over pairs of
// slot and value. A line is a multiset of pairs, so their order does not matter and a repeated pair counts twice.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

struct SlotValue {
  std::string slot, value;  // without spaces around them, and one space between words
  friend bool operator==(const SlotValue&, const SlotValue&) = default;
  friend bool operator<(const SlotValue& a, const SlotValue& b) {
    return std::tie(a.slot, a.value) < std::tie(b.slot, b.value);
  }
};

// A part without " = " is a value without a slot. A part without any text is left out.
std::vector<SlotValue> parse_slots(std::string_view line);

struct FScore {
  int64_t matches = 0, hypotheses = 0, references = 0;

  double precision() const;  // in percent, as the others; 0 if there is nothing to divide by
  double recall() const;
  double f1() const;
};

struct SlotScore {
  FScore values, pairs;

  std::string line() const;  // "slot values: F1 = 90.00 (P = 90.00 R = 90.00); slot pairs: ..."
};

// Of several references the one with the most matching pairs counts.
SlotScore slot_score(std::span<const Segment> segments);

}  // namespace fovea
