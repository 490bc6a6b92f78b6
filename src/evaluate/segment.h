// What every metric of this room reads: a hypothesis beside the references that would be right.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

// The sacreBLEU (Post 2018) whose BLEU and chrF are reproduced, number for number.
inline constexpr std::string_view kSacrebleuVersion = "2.6.0";

struct Segment {
  std::string hypothesis;
  std::vector<std::string> references;  // at least one; how many may differ from segment to segment
};

// Line i of the hypotheses beside line i of every reference file.
std::vector<Segment> make_segments(std::span<const std::string> hypotheses,
                                   std::span<const std::vector<std::string>> references);

// Throws `metric: expected ...` unless there is a segment and each has a reference.
void check_segments(std::string_view metric, std::span<const Segment> segments);

// The number of references as a signature names it: "nrefs:2", or "nrefs:var" where it differs.
std::string reference_signature(std::span<const Segment> segments);

}  // namespace fovea
