#include "evaluate/pointing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"

namespace fovea {

namespace {

constexpr int64_t kFiner = 16;  // points of the fine grid in a cell, along each side

bool is_inside(double x, double y, const std::vector<Box>& boxes) {
  return std::any_of(boxes.begin(), boxes.end(),
                     [&](const Box& b) { return b.x0 <= x && x <= b.x1 && b.y0 <= y && y <= b.y1; });
}

// A point of the fine grid along one side: between the centres of which cells it is, and where.
struct Between {
  size_t first, second;
  double share;     // 0 at the first, 1 at the second
  double position;  // in the picture, 0 to 1
};

std::vector<Between> fine_points(int64_t cells) {
  std::vector<Between> points;
  const int64_t count = cells * kFiner;
  for (int64_t i = 0; i < count; ++i) {
    const double at = (static_cast<double>(i) + 0.5) / kFiner - 0.5;  // in cells from the centre of the first
    const auto last = static_cast<double>(cells - 1);
    const double first = std::clamp(std::floor(at), 0.0, last);
    const double second = std::min(first + 1, last);
    points.push_back({static_cast<size_t>(first), static_cast<size_t>(second), std::clamp(at - first, 0.0, 1.0),
                      (static_cast<double>(i) + 0.5) / static_cast<double>(count)});
  }
  return points;
}

// Exact where both ends are equal, so that equal cells share a maximum.
double between(double a, double b, double share) { return a + (b - a) * share; }

// The share of the points with the highest value that are inside the boxes.
double share_of_best(const std::vector<double>& map, int64_t rows, int64_t columns, const std::vector<Box>& boxes) {
  const std::vector<Between> ys = fine_points(rows), xs = fine_points(columns);
  const auto width = static_cast<size_t>(columns);
  double best = -1;
  int64_t points = 0, inside = 0;
  for (const Between& y : ys) {
    const double* above = map.data() + y.first * width;
    const double* below = map.data() + y.second * width;
    for (const Between& x : xs) {
      const double value = between(between(above[x.first], above[x.second], x.share),
                                   between(below[x.first], below[x.second], x.share), y.share);
      if (!(value >= best)) continue;  // nor is a weight that is not a number a maximum
      if (value > best) {
        best = value;
        points = inside = 0;
      }
      ++points;
      if (is_inside(x.position, y.position, boxes)) ++inside;
    }
  }
  return points == 0 ? 0 : static_cast<double>(inside) / static_cast<double>(points);
}

void check_attention(const TokenAttention& a) {
  check(a.rows >= 1 && a.columns >= 1, "pointing game: expected a grid of cells, got {} x {}", a.rows, a.columns);
  const size_t cells = static_cast<size_t>(a.rows * a.columns), tokens = a.words.size();
  check(a.weights.size() == tokens * cells || a.weights.size() == tokens * (cells + 1),
        "pointing game: expected {} tokens with {} weights each, or one more, got {} weights", tokens, cells,
        a.weights.size());
}

void add_to(PointingRow& row, const PointingRow& phrase) {
  row.phrases += 1;
  row.hits += phrase.hits;
  row.random += phrase.random;
  row.centre += phrase.centre;
  row.uniform += phrase.uniform;
}

bool is_chosen(std::string_view type) {
  return std::find(std::begin(kPointingTypes), std::end(kPointingTypes), type) != std::end(kPointingTypes);
}

std::vector<std::string> types_of(const std::string& type) {
  std::vector<std::string> types(1);
  for (const char c : type) {
    if (c == '/') {
      types.emplace_back();
    } else {
      types.back() += c;
    }
  }
  return types;
}

}  // namespace

std::optional<double> point_at(const TokenAttention& attention, const BoxedPhrase& phrase) {
  check_attention(attention);
  const auto cells = static_cast<size_t>(attention.rows * attention.columns);
  const size_t stride = attention.words.empty() ? cells : attention.weights.size() / attention.words.size();
  std::vector<double> map(cells, 0);
  int64_t tokens = 0;
  for (size_t t = 0; t < attention.words.size(); ++t) {
    if (attention.words[t] < phrase.from || attention.words[t] >= phrase.to) continue;
    ++tokens;
    // The sum has its maximum where the mean has it.
    for (size_t c = 0; c < cells; ++c) map[c] += static_cast<double>(attention.weights[t * stride + c]);
  }
  if (tokens == 0) return std::nullopt;
  return share_of_best(map, attention.rows, attention.columns, phrase.boxes);
}

double PointingRow::best_baseline() const { return share(std::max({random, centre, uniform})); }

void PointingGame::add(const BoxedCaption& caption, const TokenAttention& attention) {
  for (const BoxedPhrase& phrase : caption.phrases) {
    const std::optional<double> hit = point_at(attention, phrase);
    if (!hit) {
      ++skipped_;
      continue;
    }
    PointingRow one;
    one.hits = *hit;
    one.random = covered_area(phrase.boxes);
    one.centre = is_inside(0.5, 0.5, phrase.boxes) ? 1 : 0;
    const std::vector<double> flat(static_cast<size_t>(attention.rows * attention.columns), 1);
    one.uniform = share_of_best(flat, attention.rows, attention.columns, phrase.boxes);
    const std::vector<std::string> types = types_of(phrase.type);
    for (const std::string& type : types) {
      PointingRow& row = types_[type];
      row.type = type;
      add_to(row, one);
    }
    if (std::any_of(types.begin(), types.end(), is_chosen)) add_to(chosen_, one);
    add_to(all_, one);
  }
}

std::vector<PointingRow> PointingGame::rows() const {
  std::vector<PointingRow> rows;
  for (const std::string_view type : kPointingTypes) {
    const auto found = types_.find(std::string(type));
    if (found != types_.end()) rows.push_back(found->second);
  }
  for (const auto& [type, row] : types_) {
    if (!is_chosen(type)) rows.push_back(row);
  }
  rows.push_back(chosen_);
  rows.push_back(all_);
  return rows;
}

std::string PointingGame::text() const {
  std::string text = fmt::format("{:<12}  {:>7}  {:>9}  {:>6}  {:>6}  {:>7}  {:>10}\n", "type", "phrases", "attention",
                                 "random", "centre", "uniform", "x baseline");
  for (const PointingRow& row : rows()) {
    const double best = row.best_baseline();
    text += fmt::format("{:<12}  {:>7}  {:>9.2f}  {:>6.2f}  {:>6.2f}  {:>7.2f}  {:>10}\n", row.type, row.phrases,
                        100 * row.accuracy(), 100 * row.share(row.random), 100 * row.share(row.centre),
                        100 * row.share(row.uniform), best > 0 ? fmt::format("{:.2f}", row.accuracy() / best) : "-");
  }
  return text;
}

}  // namespace fovea
