// The input of all metrics: hypotheses with their references.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// The version of sacreBLEU (Post 2018) whose BLEU and chrF are reproduced exactly.
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

struct Segment {
  std::string hypothesis;
  std::vector<std::string> references;  // at least one; the number may differ between segments
};

// Combines line i of the hypotheses with line i of every reference file.
std::vector<Segment> make_segments(std::span<const std::string> hypotheses,
                                   std::span<const std::vector<std::string>> references);

// Throws an Error `metric: expected ...` unless there is a segment and each segment has a reference.
void check_segments(std::string_view metric, std::span<const Segment> segments);

// The number of references for a signature: "nrefs:2", or "nrefs:var" if it differs between segments.
std::string reference_signature(std::span<const Segment> segments);

}  // namespace fovea
