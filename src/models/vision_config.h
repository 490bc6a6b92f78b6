// The settings of a convolutional encoder, in a recipe's section [vision] and in a model folder's config.json.
#pragma once

#include <cstdint>
#include <string>

namespace fovea {

class Fields;

struct VisionConfig {
  std::string network = "mobilenet-edgetpu";
  int64_t size = 224;
  std::string layer;
  std::string weights;
  bool frozen = true;
  std::string positions = "none";
  int64_t depth = 0;
  double dropout = 0;
  std::string nonlocal = "none";

  void describe(Fields& fields);
};

}  // namespace fovea
