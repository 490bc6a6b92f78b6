#include "evaluate/segment.h"

#include <algorithm>

#include "base/error.h"

namespace fovea {

std::vector<Segment> make_segments(std::span<const std::string> hypotheses,
                                   std::span<const std::vector<std::string>> references) {
  check(!references.empty(), "evaluate: expected at least one list of references, got none");
  std::vector<Segment> segments;
  segments.reserve(hypotheses.size());
  for (const std::string& hypothesis : hypotheses) segments.push_back({.hypothesis = hypothesis, .references = {}});
  for (const std::vector<std::string>& lines : references) {
    check(lines.size() == hypotheses.size(), "evaluate: expected a reference for each of {} hypotheses, got {}",
          hypotheses.size(), lines.size());
    for (size_t i = 0; i < lines.size(); ++i) segments[i].references.push_back(lines[i]);
  }
  return segments;
}

void check_segments(std::string_view metric, std::span<const Segment> segments) {
  check(!segments.empty(), "{}: expected at least one segment, got none", metric);
  for (size_t i = 0; i < segments.size(); ++i)
    check(!segments[i].references.empty(), "{}: expected a reference for segment {}, got none", metric, i + 1);
}

std::string reference_signature(std::span<const Segment> segments) {
  check_segments("signature", segments);
  const size_t count = segments.front().references.size();
  const bool same = std::all_of(segments.begin(), segments.end(),
                                [count](const Segment& segment) { return segment.references.size() == count; });
  return same ? fmt::format("nrefs:{}", count) : "nrefs:var";
}

}  // namespace fovea
