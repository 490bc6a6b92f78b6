// Output heads as nodes, as models/heads.h: from the features of a step to logits.
#pragma once

#include <vector>

#include "onnx/decoders.h"

namespace fovea::onnx {

// Adds what a head that copies reads of the source.
void prepare_head(const ModelConfig& config, const Encoded& encoded, Prepared& prepared);
// Adds the outputs of a head. features [B,F] each; weights [B,H,1,S] are those of the last cross-attention.
void predict(const ModelConfig& config, const DecoderSizes& sizes, const std::vector<Value>& features, bool deep,
             const Value& weights, Step& step);

}  // namespace fovea::onnx
