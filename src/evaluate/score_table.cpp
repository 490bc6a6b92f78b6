#include "evaluate/score_table.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "base/error.h"

namespace fovea {
namespace {

struct Bucket {
  int64_t first, last;

  std::string label() const {
    if (last == std::numeric_limits<int64_t>::max()) return fmt::format("{}+", first);
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
};

std::vector<Bucket> make_buckets(std::span<const int64_t> bounds) {
  std::vector<Bucket> buckets{{0, 0}};
  for (const int64_t bound : bounds) {
    check(bound > buckets.back().last, "by length: expected rising bounds above 0, got {} after {}", bound,
          buckets.back().last);
    buckets.push_back({buckets.back().last + 1, bound});
  }
  buckets.push_back({buckets.back().last + 1, std::numeric_limits<int64_t>::max()});
  return buckets;
}

ScoreRow score_row(std::string label, std::span<const Segment> segments, std::span<const Metric> metrics) {
  ScoreRow row{.label = std::move(label), .segments = static_cast<int64_t>(segments.size()), .scores = {}};
  for (const Metric& metric : metrics) row.scores.push_back(metric.score(segments));
  return row;
}

// parts[i] is the index of the label of segments[i].
ScoreTable make_table(std::string heading, std::span<const std::string> labels, std::span<const Segment> segments,
                      std::span<const size_t> parts, std::span<const Metric> metrics) {
  check_segments("by " + heading, segments);
  std::vector<std::vector<Segment>> members(labels.size());
  for (size_t i = 0; i < segments.size(); ++i) members[parts[i]].push_back(segments[i]);
  ScoreTable table{.heading = std::move(heading), .metrics = {}, .rows = {}};
  for (const Metric& metric : metrics) table.metrics.push_back(metric.name);
  for (size_t part = 0; part < labels.size(); ++part) {
    if (!members[part].empty()) table.rows.push_back(score_row(labels[part], members[part], metrics));
  }
  table.rows.push_back(score_row("all", segments, metrics));
  return table;
}

}  // namespace

ScoreTable by_length(std::span<const Segment> segments, std::span<const int64_t> lengths,
                     std::span<const Metric> metrics, std::span<const int64_t> bounds) {
  check(lengths.size() == segments.size(), "by length: expected a length for each of {} segments, got {}",
        segments.size(), lengths.size());
  const std::vector<Bucket> buckets = make_buckets(bounds);
  std::vector<std::string> labels;
  for (const Bucket& bucket : buckets) labels.push_back(bucket.label());
  std::vector<size_t> parts;
  for (const int64_t length : lengths) {
    const auto found = std::find_if(buckets.begin(), buckets.end(), [&](const Bucket& b) { return length <= b.last; });
    parts.push_back(static_cast<size_t>(found - buckets.begin()));
  }
  return make_table("length", labels, segments, parts, metrics);
}

ScoreTable by_group(std::span<const Segment> segments, std::span<const std::string> groups,
                    std::span<const Metric> metrics) {
  check(groups.size() == segments.size(), "by group: expected a group for each of {} segments, got {}", segments.size(),
        groups.size());
  std::vector<std::string> labels;
  std::unordered_map<std::string, size_t> places;
  std::vector<size_t> parts;
  for (const std::string& group : groups) {
    const auto [place, fresh] = places.emplace(group, labels.size());
    if (fresh) labels.push_back(group);
    parts.push_back(place->second);
  }
  return make_table("group", labels, segments, parts, metrics);
}

std::string ScoreTable::text() const {
  std::vector<std::vector<std::string>> cells{{heading, "segments"}};
  for (const std::string& metric : metrics) cells.front().push_back(metric);
  for (const ScoreRow& row : rows) {
    cells.push_back({row.label, fmt::format("{}", row.segments)});
    for (const double score : row.scores) cells.back().push_back(fmt::format("{:.2f}", score));
  }
  std::vector<size_t> widths(cells.front().size());
  for (const auto& line : cells)
    for (size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], line[i].size());

  std::string out;
  for (const auto& line : cells) {
    out += fmt::format("{:<{}}", line[0], widths[0]);
    for (size_t i = 1; i < widths.size(); ++i) out += fmt::format("  {:>{}}", line[i], widths[i]);
    out += '\n';
  }
  return out;
}

}  // namespace fovea
