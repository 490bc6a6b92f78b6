// chrF (Popović 2015) and chrF++ (Popović 2017): the F-score of character n-grams and, for chrF++, word n-grams:
// F = (1 + β²) P R / (β² P + R) with P and R averaged over the orders. The scores equal sacreBLEU's.
#pragma once

#include <span>
#include <string>

#include "evaluate/segment.h"

namespace fovea {

struct ChrfOptions {
  int char_order = 6;
  int word_order = 0;  // 2 makes it chrF++
  int beta = 2;        // recall is weighted beta times as much as precision
  bool lowercase = false;
  bool whitespace = false;     // count white space as characters
  bool eps_smoothing = false;  // average the F-scores of all orders, instead of P and R of the effective orders
};

struct ChrfScore {
  std::string name;  // "chrF2", "chrF2++"
  double score = 0;  // in percent

  std::string line() const;  // "chrF2 = 61.58"
};

// For each segment, the reference with the best F-score counts.
ChrfScore corpus_chrf(std::span<const Segment> segments, const ChrfOptions& options = {});
ChrfScore sentence_chrf(const Segment& segment, const ChrfOptions& options = {});

// In sacreBLEU's form: "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:..."
std::string chrf_signature(std::span<const Segment> segments, const ChrfOptions& options = {});

}  // namespace fovea
