// Numbers that show where attention went wrong (Rikters & Fishel 2017, "Confidence through attention").
// web/src/model/diagnostics.ts computes the same; tests/view/cases/diagnostics.json has the cases of both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/grid.h"

namespace fovea {

struct Diagnostics {
  double entropy = 0;             // mean entropy of rows as a share of its maximum: 0 for sharp, 1 for uniform rows
  double peak = 0;                // mean of each row's largest weight
  double coverage_deviation = 0;  // mean over columns of log(1 + (1 - sum)^2): columns attended too little or too often
  double absent_out = 0;          // mean entropy of rows, in nats
  double absent_in = 0;           // entropies of columns, each divided by its sum; their total over the number of rows
  double confidence = 0;          // exp(-(coverage_deviation + absent_out + absent_in)): 1 at best

  static std::vector<std::string> names();
  double named(std::string_view name) const;
  static bool higher_is_worse(std::string_view name);
};

Diagnostics diagnose(const Grid& grid);

}  // namespace fovea
