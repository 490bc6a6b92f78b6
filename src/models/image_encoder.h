// The encoder of pictures: a feature map of a convolutional network, whose vectors are projected, given positions and
// attended over.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "models/encoder.h"
#include "models/image_network.h"
#include "models/nonlocal.h"

namespace fovea {

// A frozen network with parameters of its own, which are not trained. Without a seed for random weights, those of a
// file must be loaded before use (store/vision_weights.h).
class FeatureExtractor {
 public:
  FeatureExtractor(const VisionConfig& config, Device device, std::optional<uint64_t> seed = {});

  // Pictures of vision.size -> their feature maps, f32 [B,y,x,C].
  Tensor operator()(std::span<const Image> images) const;
  Shape map_shape() const { return network_->map_shape(); }
  const ImageNetwork& network() const { return *network_; }
  const Parameters& parameters() const { return parameters_; }
  Parameters& parameters() { return parameters_; }
  const VisionConfig& config() const { return config_; }

 private:
  VisionConfig config_;
  Parameters parameters_;
  std::unique_ptr<ImageNetwork> network_;
  mutable std::mutex mutex_;  // of the arena: pictures are computed for one caller at a time, on all threads
  mutable Arena arena_;
};

class ImageEncoder final : public Encoder {
 public:
  // The parameters of the network are declared only if it is trained. Otherwise Source::images are feature maps.
  ImageEncoder(Parameters& parameters, const VisionConfig& config);

  // Source::images: pictures [B,size,size,3] as ImageNetwork::normalise makes them or, if the network is frozen,
  // feature maps [B,y,x,C] -> states [y*x,B,D], rows of the map one after the other.
  Encoded operator()(const Source& source, Capture capture, std::span<const WeightEdit> edits) const override;
  int64_t depth() const override { return depth_; }
  std::vector<AttentionInfo> attentions() const override;

  Shape map_shape() const { return map_; }                        // [y,x,C], before the projection
  const ImageNetwork* network() const { return network_.get(); }  // null if it is frozen

 private:
  std::unique_ptr<ImageNetwork> network_;
  Shape map_;
  int64_t depth_;
  float dropout_;
  std::optional<Linear> projection_;
  std::optional<NonLocal> nonlocal_;    // of a frozen network; that of a trained one is in the network
  const Parameter* learned_ = nullptr;  // [y*x,D]
  Tensor sinusoids_;                    // [y*x,D]
};

}  // namespace fovea
