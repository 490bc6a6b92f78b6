// The weights of a convolutional network in safetensors files. Names and layouts are those of PyTorch: convolutions are
// [out,in,height,width], depthwise ones [channels,1,height,width].
#pragma once

#include <string>

#include "models/image_encoder.h"

namespace fovea {

// Reads the network's parameters, those whose names start with "vision.", from a file that names them without this
// prefix. Other parameters and further tensors of the file are left alone, and so is a non-local block that the file
// lacks. Error that names the tensor with the expected and the found shape.
void load_network_weights(const std::string& path, const Parameters& parameters);
// Writes them to such a file; with `packed`, in 8 bits with a scale for each output channel.
void save_network_weights(const std::string& path, const Parameters& parameters, bool packed);

// The frozen network of a model folder: vision.safetensors.
std::string network_weights_path(const std::string& folder);
// A frozen network with the weights of a file.
std::unique_ptr<FeatureExtractor> load_feature_extractor(const VisionConfig& config, const std::string& path,
                                                         Device device);

}  // namespace fovea
