// The settings of a classifier, in a recipe's section [classify] and in a model folder's config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fovea {

class Fields;

// How the states of an encoder become one vector (models/pooling.h).
struct PoolingConfig {
  std::vector<std::string> pooling = {"attention"};
  int64_t hops = 4;
  int64_t pooling_depth = 0;

  bool has(std::string_view name) const;
  // The pooling that has attention weights: "attention" or "structured"; empty if there is none.
  std::string attention() const;
  void describe(Fields& fields);
};

// The settings of a classifier besides those of its encoder (ModelConfig).
struct ClassifierConfig : PoolingConfig {
  int64_t head_hidden = 0;
  double head_dropout = 0.2;

  void describe(Fields& fields);
};

}  // namespace fovea
