// Convolutional networks, from pictures to a feature map that is attended over. A network is an entry of a registry and
// is named in a recipe (vision.network).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/attention_trace.h"
#include "models/vision_config.h"
#include "nn/parameters.h"
#include "vision/image.h"

namespace fovea {

struct FeatureMap {
  Var map;                                 // [B,y,x,C]
  std::vector<AttentionTrace> attentions;  // of non-local blocks, if they were captured
};

class ImageNetwork {
 public:
  virtual ~ImageNetwork() = default;
  // Pictures [B,size,size,3] as normalise() makes them.
  virtual FeatureMap operator()(const Var& images, Capture capture = {}) const = 0;
  virtual Shape map_shape() const = 0;  // [y,x,C]
  // Pictures of vision.size in the values that the network expects, f32 [B,size,size,3].
  virtual Tensor normalise(std::span<const Image> images, Device device) const = 0;
  virtual std::vector<AttentionInfo> attentions() const { return {}; }  // of non-local blocks
};

// All names of a network's parameters start with this.
inline constexpr std::string_view kVisionPrefix = "vision.";

struct ImageNetworkEntry {
  std::string_view name, help;
  std::unique_ptr<ImageNetwork> (*make)(Parameters&, const VisionConfig&);
};
std::span<const ImageNetworkEntry> image_networks();
// The network that the settings name. Error if the network has no such layer.
std::unique_ptr<ImageNetwork> make_image_network(Parameters& parameters, const VisionConfig& config);

// What the networks share.
// (u8 - center) * scale of all pictures, each of size x size pixels; Error for another size.
Tensor normalised(std::span<const Image> images, int64_t size, float center, float scale, Device device);
// The index of the layer that `config` names, the last if it names none. Error that lists the layers.
int64_t layer_index(const VisionConfig& config, std::span<const std::string> layers);

std::unique_ptr<ImageNetwork> make_mobilenet_edgetpu(Parameters& parameters, const VisionConfig& config);
std::unique_ptr<ImageNetwork> make_resnet_small(Parameters& parameters, const VisionConfig& config);

}  // namespace fovea
