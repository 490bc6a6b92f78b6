// The settings of one attention in a recipe: a choice on each axis (score, scope, selection) and extras.
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
  bool sentinel = false;
  double dropout = 0.0;
  std::string estimator = "reinforce";
  double entropy_bonus = 0.01;
  std::string section = "attention";  // the prefix of its keys in messages

  void describe(Fields& fields);
  std::string mechanism() const;  // "additive, global, soft"
  bool uses_reinforce() const;    // a hard selection that is trained by REINFORCE
};

}  // namespace fovea
