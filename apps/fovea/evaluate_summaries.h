// The part of fovea evaluate that is about summaries and replies: ROUGE, the lead baseline and distinct-n.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "evaluate/score_table.h"

namespace fovea::app {

// The first sentences of each source in place of the hypotheses.
std::vector<Segment> lead_segments(std::span<const std::string> sources, std::span<const Segment> segments,
                                   int64_t sentences);

// Columns of a table, JSON and a line of text for the scores of two metrics that are several numbers.
std::vector<Metric> rouge_metrics();
nlohmann::ordered_json rouge_json(std::span<const Segment> segments);
std::string rouge_line(std::span<const Segment> segments);
std::vector<Metric> distinct_metrics();
nlohmann::ordered_json distinct_json(std::span<const Segment> segments);
std::string distinct_line(std::span<const Segment> segments);

}  // namespace fovea::app
