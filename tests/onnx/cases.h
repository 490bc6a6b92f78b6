// Small random models of everything that is exported, with inputs and the outputs that our own engine computes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/json.h"
#include "onnx/export.h"

namespace fovea::onnx {

struct Case {
  std::string name;
  Exported exported;
  // {"inputs": {name: {"type", "shape", "data"}}, "expected": {name: {"shape", "data"}}, "steps": [{"inputs",
  // "expected"}]} A value of null is not compared: it belongs to no token.
  Json run;
};

struct NamedCase {
  std::string name;
  std::function<Case()> make;
};
std::vector<NamedCase> all_cases();

}  // namespace fovea::onnx
