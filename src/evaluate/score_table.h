// Corpus metrics of parts of a test set: by source length (Bahdanau et al. 2015, figure 2; Luong et al. 2015, figure 6)
// or by groups that are given, such as domains.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "evaluate/segment.h"

namespace fovea {

// A column of the table: corpus_bleu, corpus_chrf, word_error_rate ... as one number.
struct Metric {
  std::string name;
  std::function<double(std::span<const Segment>)> score;
};

struct ScoreRow {
  std::string label;  // "6-10", "31+", "all"
  int64_t segments = 0;
  std::vector<double> scores;  // one for each metric
};

struct ScoreTable {
  std::string heading;  // of the labels: "length", "group"
  std::vector<std::string> metrics;
  std::vector<ScoreRow> rows;  // the parts that occur, then a row for all segments

  std::string text() const;  // the table in aligned columns
};

// The upper bound of every bucket but the last: 1-5, 6-10, 11-15, 16-20, 21-30, 31+.
inline constexpr int64_t kLengthBounds[] = {5, 10, 15, 20, 30};

// lengths[i] is the number of source tokens of segments[i]. Empty sources, if there are any, have a row "0".
ScoreTable by_length(std::span<const Segment> segments, std::span<const int64_t> lengths,
                     std::span<const Metric> metrics, std::span<const int64_t> bounds = kLengthBounds);

// groups[i] is the name of the group of segments[i]. The groups have the order in which they first occur.
ScoreTable by_group(std::span<const Segment> segments, std::span<const std::string> groups,
                    std::span<const Metric> metrics);

}  // namespace fovea
