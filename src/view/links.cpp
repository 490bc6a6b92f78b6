#include "view/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace fovea {

namespace {

// Weights are floats that sum to about 1: a rounding error must not decide whether a link is drawn.
constexpr double kTolerance = 1e-6;

std::vector<DrawnLink> links_of_row(const Grid& grid, int64_t row) {
  std::vector<DrawnLink> links;
  for (int64_t c = 0; c < grid.width(); ++c) {
    const float weight = grid.at(row, c);
    if (weight > 0) links.push_back({row, c, static_cast<double>(weight)});  // false for an absent cell
  }
  return links;
}

bool lighter(const DrawnLink& a, const DrawnLink& b) { return a.weight < b.weight; }

// A row divided by its sum; empty if the sum is 0.
std::vector<double> normalised_row(const Grid& grid, int64_t row) {
  std::vector<double> result(static_cast<size_t>(grid.width()), 0.0);
  double sum = 0;
  for (const DrawnLink& link : links_of_row(grid, row)) sum += link.weight;
  for (const DrawnLink& link : links_of_row(grid, row)) {
    if (sum > 0) result[static_cast<size_t>(link.column)] = link.weight / sum;
  }
  return sum > 0 ? result : std::vector<double>{};
}

}  // namespace

std::string PrunedLinks::statement() const {
  const auto left_out = links - static_cast<int64_t>(drawn.size());
  if (left_out == 0) return fmt::format("shows all of the attention, in {} links", links);
  return fmt::format("hides {:.1f}% of the attention, in {} of {} links", 100 * hidden_share(), left_out, links);
}

PrunedLinks prune_links(const Grid& grid, double hide, size_t max_links) {
  PrunedLinks pruned;
  for (int64_t r = 0; r < grid.height(); ++r) {
    std::vector<DrawnLink> links = links_of_row(grid, r);
    std::stable_sort(links.begin(), links.end(), lighter);
    double row_total = 0, row_hidden = 0;
    for (const DrawnLink& link : links) row_total += link.weight;
    size_t first = 0;
    while (first < links.size() && row_hidden + links[first].weight <= hide * row_total + kTolerance) {
      row_hidden += links[first++].weight;
    }
    pruned.links += static_cast<int64_t>(links.size());
    pruned.total += row_total;
    pruned.hidden += row_hidden;
    pruned.drawn.insert(pruned.drawn.end(), links.begin() + static_cast<int64_t>(first), links.end());
  }
  if (pruned.drawn.size() > max_links) {
    std::stable_sort(pruned.drawn.begin(), pruned.drawn.end(),
                     [](const DrawnLink& a, const DrawnLink& b) { return lighter(b, a); });
    for (size_t i = max_links; i < pruned.drawn.size(); ++i) pruned.hidden += pruned.drawn[i].weight;
    pruned.drawn.resize(max_links);
  }
  std::sort(pruned.drawn.begin(), pruned.drawn.end(), [](const DrawnLink& a, const DrawnLink& b) {
    return std::tie(a.row, a.column) < std::tie(b.row, b.column);
  });
  return pruned;
}

std::vector<Move> transport(const Grid& grid, int64_t row, int64_t next) {
  std::vector<double> supply = normalised_row(grid, row), demand = normalised_row(grid, next);
  std::vector<Move> moves;
  size_t from = 0, to = 0;
  while (from < supply.size() && to < demand.size()) {
    const double mass = std::min(supply[from], demand[to]);
    if (mass > kTolerance) moves.push_back({static_cast<int64_t>(from), static_cast<int64_t>(to), mass});
    supply[from] -= mass;
    demand[to] -= mass;
    (supply[from] <= demand[to] ? from : to) += 1;
  }
  return moves;
}

double mean_move(const Grid& grid) {
  double distance = 0, pairs = 0;
  for (int64_t row = 0; row + 1 < grid.height(); ++row) {
    const std::vector<Move> moves = transport(grid, row, row + 1);
    for (const Move& move : moves) distance += move.mass * static_cast<double>(std::abs(move.to - move.from));
    if (!moves.empty()) pairs += 1;
  }
  return pairs > 0 ? distance / pairs : 0;
}

}  // namespace fovea
