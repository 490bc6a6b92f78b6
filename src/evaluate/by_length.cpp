#include "evaluate/by_length.h"

#include <algorithm>
#include <limits>

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

LengthRow score_row(std::string label, std::span<const Segment> segments, std::span<const Metric> metrics) {
  LengthRow row{.label = std::move(label), .segments = static_cast<int64_t>(segments.size()), .scores = {}};
  for (const Metric& metric : metrics) row.scores.push_back(metric.score(segments));
  return row;
}

}  // namespace

LengthTable by_length(std::span<const Segment> segments, std::span<const int64_t> lengths,
                      std::span<const Metric> metrics, std::span<const int64_t> bounds) {
  check_segments("by length", segments);
  check(lengths.size() == segments.size(), "by length: expected a length for each of {} segments, got {}",
        segments.size(), lengths.size());
  LengthTable table;
  for (const Metric& metric : metrics) table.metrics.push_back(metric.name);
  for (const Bucket& bucket : make_buckets(bounds)) {
    std::vector<Segment> inside;
    for (size_t i = 0; i < segments.size(); ++i)
      if (lengths[i] >= bucket.first && lengths[i] <= bucket.last) inside.push_back(segments[i]);
    if (!inside.empty()) table.rows.push_back(score_row(bucket.label(), inside, metrics));
  }
  table.rows.push_back(score_row("all", segments, metrics));
  return table;
}

std::string LengthTable::text() const {
  std::vector<std::vector<std::string>> cells{{"length", "segments"}};
  for (const std::string& metric : metrics) cells.front().push_back(metric);
  for (const LengthRow& row : rows) {
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
