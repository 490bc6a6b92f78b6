// What a picture of links draws: the links that are left when the smallest are pruned, and how mass moves between rows.
// web/src/model/links.ts computes the same; tests/view/cases/links.json has the cases of both.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "view/grid.h"

namespace fovea {

struct DrawnLink {
  int64_t row, column;
  double weight;
};

struct PrunedLinks {
  std::vector<DrawnLink> drawn;  // by row, then column
  int64_t links = 0;             // all, drawn or not; a cell that is absent or 0 is none
  double total = 0, hidden = 0;  // attention

  double hidden_share() const { return total > 0 ? hidden / total : 0; }
  std::string statement() const;  // "hides 8.3% of the attention, in 41 of 56 links"
};

// In each row the smallest links that together make at most `hide` of its attention are left out; then the smallest of
// all while more than `most` are left.
PrunedLinks prune_links(const Grid& grid, double hide, size_t most = 8000);

// Mass that moves from a column of one row to a column of the next.
struct Move {
  int64_t from, to;
  double mass;
};
// The cheapest way to move the one row's attention, made to sum to 1, to the other's, where a step to the next column
// costs 1: in one dimension, in order. None when either row has no attention at all.
std::vector<Move> transport(const Grid& grid, int64_t row, int64_t next);
// The columns that a unit of mass moves from a row to the next, on average over the pairs of rows with a transport.
double mean_move(const Grid& grid);

}  // namespace fovea
