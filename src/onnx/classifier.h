// Classifiers as nodes, as models/classifier.h and models/pooling.h.
#pragma once

#include "models/classifier_config.h"
#include "onnx/encoders.h"

namespace fovea::onnx {

struct Classified {
  Value logits;   // [B,C]
  Value weights;  // of the pooling, [B,R,S]; absent for a pooling without attention
};
Classified classify(const ClassifierConfig& config, const Encoded& encoded);

}  // namespace fovea::onnx
