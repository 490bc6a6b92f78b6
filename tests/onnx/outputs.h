// What our own engine computed, as the outputs of exported graphs.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "models/classifier.h"
#include "models/model.h"

namespace fovea::onnx {

// Numbers as JSON. NaN is written as null, and is not compared.
Json tensor(const std::string& type, const std::vector<int64_t>& shape, const auto& values) {
  return {{"type", type}, {"shape", shape}, {"data", values}};
}

// The outputs of step t of a target, for `source` positions.
Json step_outputs(const TeacherForced& forced, int64_t t, int64_t source);
// The encoder's own attention, if it was captured. Rows after the end of a text are not compared.
Json encoder_outputs(const std::vector<AttentionTrace>& traces, const std::vector<int32_t>& lengths = {});
Json class_outputs(const Classified& classified, const std::vector<int32_t>& lengths = {});

}  // namespace fovea::onnx
