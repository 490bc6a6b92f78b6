// Numbers that say where attention went wrong (after Rikters & Fishel 2017, "Confidence through attention").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "view/grid.h"

namespace fovea {

struct Diagnostics {
  double entropy = 0;  // of the rows, their mean, as a share of the largest possible: 0 sharp, 1 even
  double peak = 0;     // the mean of each row's largest weight
  double coverage_deviation =
      0;                  // mean over columns of log(1 + (1 - their sum)^2): words looked at too little or often
  double absent_out = 0;  // how scattered each target word's attention is: the mean entropy of rows, in nats
  double absent_in = 0;   // how scattered the attention each source word gets is: of columns, by target words
  double confidence = 0;  // exp(-(coverage_deviation + absent_out + absent_in)): 1 at best

  static std::vector<std::string> names();
  double named(std::string_view name) const;
  static bool higher_is_worse(std::string_view name);
};

Diagnostics diagnose(const Grid& grid);

}  // namespace fovea
