// What a recipe says about one attention: a choice on each axis (score, scope, selection) and extras.
#pragma once

#include <cstdint>
#include <string>

#include "base/fields.h"

namespace fovea {

struct AttentionConfig {
  std::string score = "additive";
  std::string scope = "global";
  std::string selection = "soft";
  int64_t heads = 1;
  int64_t depth = 0;
  int64_t window = 8;
  int64_t longest = 256;
  std::string relative = "none";
  bool coverage = false;
  double dropout = 0.0;
  std::string estimator = "reinforce";
  double entropy_bonus = 0.01;
  std::string section = "attention";  // the key prefix that messages name

  void describe(Fields& fields);
  std::string mechanism() const;  // "additive, global, soft", for people
};

}  // namespace fovea
