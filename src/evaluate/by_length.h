// A corpus metric by the length of the source: does a model hold up on long sentences? (Bahdanau et al.
// 2015, figure 2; Luong et al. 2015, figure 6.)
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

// A column: corpus_bleu, corpus_chrf, word_error_rate ... as one number.
struct Metric {
  std::string name;
  std::function<double(std::span<const Segment>)> score;
};

struct LengthRow {
  std::string label;  // "6-10", "31+", "all"
  int64_t segments = 0;
  std::vector<double> scores;  // one a metric
};

struct LengthTable {
  std::vector<std::string> metrics;
  std::vector<LengthRow> rows;  // the lengths that occur, shortest first, then all

  std::string text() const;  // aligned, a line a row
};

// The last length of every bucket but the open one: 1-5, 6-10, 11-15, 16-20, 21-30, 31+.
inline constexpr int64_t kLengthBounds[] = {5, 10, 15, 20, 30};

// lengths[i] is the number of source tokens of segments[i]. Empty sources, where there are any, have a row "0".
LengthTable by_length(std::span<const Segment> segments, std::span<const int64_t> lengths,
                      std::span<const Metric> metrics, std::span<const int64_t> bounds = kLengthBounds);

}  // namespace fovea
