// Word alignments: which words of two sentences belong together. Reading and writing them as people exchange them
// (Pharaoh), joining two directions (Och & Ney 2003; Koehn et al. 2003), and measuring them against gold.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

struct Link {
  int64_t source, target;                                       // words, from 0
  friend auto operator<=>(const Link&, const Link&) = default;  // NOLINT(modernize-use-nullptr): misread
};
using Alignment = std::vector<Link>;  // sorted, each once

// What people drew: links that must be there, and those that may (the sure ones among them).
struct GoldAlignment {
  Alignment sure, possible;
};

// "0-0 1-2 3?3": source word - target word, ? for a link that is only possible; `first` is the number of the first
// word, 0 or 1. Error that begins with `place` for anything else.
GoldAlignment parse_pharaoh(std::string_view line, int64_t first, const std::string& place);
std::string to_pharaoh(const Alignment& alignment, int64_t first);

// Joins the alignments of both directions, each in terms of (source, target).
std::vector<std::string> symmetrisations();
Alignment symmetrise(const Alignment& forward, const Alignment& backward, std::string_view how);

// AER = 1 - (|A and S| + |A and P|) / (|A| + |S|)  (Och & Ney 2003), over a corpus.
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
