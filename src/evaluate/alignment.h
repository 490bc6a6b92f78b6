// Word alignments: the Pharaoh format, symmetrisation of two directions (Och & Ney 2003; Koehn et al. 2003), and the
// alignment error rate against a gold alignment.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct Link {
  int64_t source, target;                                       // word indices, from 0
  friend auto operator<=>(const Link&, const Link&) = default;  // NOLINT(modernize-use-nullptr): misread
};
using Alignment = std::vector<Link>;  // sorted, without duplicates

// An alignment made by annotators: sure links, and possible links, which include the sure ones.
struct GoldAlignment {
  Alignment sure, possible;
};

// Parses "0-0 1-2 3?3": source word - target word, with ? for a link that is only possible. `first` is the index of the
// first word in the text, 0 or 1. Throws an Error that begins with `place` if the text is malformed.
GoldAlignment parse_pharaoh(std::string_view line, int64_t first, const std::string& place);
std::string to_pharaoh(const Alignment& alignment, int64_t first);

// Combines the alignments of both directions. Links of both are (source, target).
std::vector<std::string> symmetrisations();
Alignment symmetrise(const Alignment& forward, const Alignment& backward, std::string_view how);

// AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)  (Och & Ney 2003), accumulated over a corpus.
class AlignmentScore {
 public:
  void add(const Alignment& alignment, const GoldAlignment& gold);
  double error_rate() const;
  double precision() const;  // |A and P| / |A|
  double recall() const;     // |A and S| / |S|

 private:
  int64_t links_ = 0, sure_ = 0, links_sure_ = 0, links_possible_ = 0;
};

}  // namespace fovea
