// The partition of a GEMM among threads: row_parts * panel_parts cells.
#pragma once

#include <cstdint>

#include "base/threads.h"

namespace fovea::cpu {

struct Range {
  int64_t begin = 0, end = 0;
  int64_t count() const { return end - begin; }
};

struct Grid {
  int64_t row_parts = 1, panel_parts = 1;
};
// Each panel part reads the rows again, and each row part the panels.
inline Grid grid_for(int64_t rows, int64_t panels, int64_t threads) {
  Grid best;
  double least = 0;
  for (int64_t panel_parts = threads; panel_parts >= 1; --panel_parts) {
    const int64_t row_parts = threads / panel_parts;
    const int64_t high = (rows + row_parts - 1) / row_parts, wide = (panels + panel_parts - 1) / panel_parts;
    const double cost = static_cast<double>(high * wide + high + wide);
    if (least == 0 || cost < least) {
      least = cost;
      best = {row_parts, panel_parts};
    }
  }
  return best;
}

// Calls body(rows, panels) for each cell that is not empty, each on one of `threads` threads.
template <class Body> void for_partition(int64_t rows, int64_t panels, int64_t threads, Body&& body) {
  const Grid grid = grid_for(rows, panels, threads);
  parallel_for(grid.row_parts * grid.panel_parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; ++cell) {
      const int64_t i = cell / grid.panel_parts, j = cell % grid.panel_parts;
      const Range high = {rows * i / grid.row_parts, rows * (i + 1) / grid.row_parts};
      const Range wide = {panels * j / grid.panel_parts, panels * (j + 1) / grid.panel_parts};
      if (high.count() > 0 && wide.count() > 0) body(high, wide);
    }
  });
}

}  // namespace fovea::cpu
