// Convolutional networks as nodes, as models/mobilenet_edgetpu.cpp and models/resnet_small.cpp.
#pragma once

#include "models/vision_config.h"
#include "onnx/ops.h"

namespace fovea::onnx {

// Pictures uint8 [B,size,size,3] -> the feature map [B,C,y,x].
Value image_network(const VisionConfig& config, const Value& images);

}  // namespace fovea::onnx
