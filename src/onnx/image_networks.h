// Convolutional networks as nodes, as models/mobilenet_edgetpu.cpp and models/resnet_small.cpp.
#pragma once

#include "models/vision_config.h"
#include "onnx/nonlocal.h"

namespace fovea::onnx {

// Pictures uint8 [B,size,size,3] -> the feature map. The weights of a non-local block are added to `weights`.
Map image_network(const VisionConfig& config, const Value& images, NonLocalWeights& weights);

}  // namespace fovea::onnx
