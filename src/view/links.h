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
  int64_t links = 0;             // the number of cells with a weight above 0, drawn or not
  double total = 0, hidden = 0;  // attention of all links and of the hidden ones

  double hidden_share() const { return total > 0 ? hidden / total : 0; }
  std::string statement() const;  // "hides 8.3% of the attention, in 41 of 56 links"
};

// Hides in each row the smallest links that together have at most `hide` of its attention, then the smallest links of
// all rows while more than `max_links` are left.
PrunedLinks prune_links(const Grid& grid, double hide, size_t max_links = 8000);

// Mass that moves from a column of one row to a column of the next.
struct Move {
  int64_t from, to;
  double mass;
};
// The optimal transport of one row's attention to another's, each divided by its sum, if moving to the next column
// costs 1: in one dimension mass moves in order. Empty if either row has no attention.
std::vector<Move> transport(const Grid& grid, int64_t row, int64_t next);
// The columns that a unit of mass moves from a row to the next, on average over the pairs of rows with a transport.
double mean_move(const Grid& grid);

}  // namespace fovea
