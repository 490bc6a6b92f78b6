// A small residual network (He et al. 2016) that is trained from scratch: a stem, and three stages of two residual
// blocks with 16, 32 and 64 channels. The stem and the second and third stage halve height and width. A non-local block
// is added right before the last residual block, as Wang et al. 2018 do.
#include <fmt/format.h>

#include <cmath>
#include <deque>

#include "models/image_network.h"
#include "models/nonlocal.h"
#include "models/resnet_small.h"

namespace fovea {

namespace {

// A 3x3 convolution with batch norm, or a 1x1 one for a shortcut.
class ConvNorm {
 public:
  ConvNorm(Parameters& parameters, const std::string& name, int64_t in, int64_t out, const Window& window)
      : conv_(parameters, name, in, out, window,
              {.bias = false,
               .initialiser =
                   Initialiser::normal(std::sqrt(2.0 / static_cast<double>(in * window.height * window.width)))}),
        norm_(parameters, name + ".norm", out) {}
  Var operator()(const Var& x) const { return norm_(conv_(x)); }
  const Conv2d& conv() const { return conv_; }

 private:
  Conv2d conv_;
  BatchNorm norm_;
};

Window window_of(int64_t cells, int64_t stride, int64_t pixels) {
  return same_padding({.height = cells, .width = cells, .stride_y = stride, .stride_x = stride}, pixels, pixels);
}

// y = relu(conv(relu(conv(x))) + shortcut(x)), where the shortcut is x itself if the sizes allow it.
class ResidualBlock {
 public:
  ResidualBlock(Parameters& parameters, const std::string& name, int64_t in, int64_t out, int64_t stride,
                int64_t pixels)
      : first_(parameters, name + ".first", in, out, window_of(3, stride, pixels)),
        second_(parameters, name + ".second", out, out, window_of(3, 1, (pixels + stride - 1) / stride)) {
    if (in != out || stride != 1)
      shortcut_.emplace(parameters, name + ".shortcut", in, out, window_of(1, stride, pixels));
  }
  Var operator()(const Var& x) const { return relu(second_(relu(first_(x))) + (shortcut_ ? (*shortcut_)(x) : x)); }

 private:
  ConvNorm first_, second_;
  std::optional<ConvNorm> shortcut_;
};

std::vector<std::string> layer_names() {
  std::vector<std::string> names = {"stem"};
  for (size_t i = 0; i < kResnetChannels.size(); ++i) names.push_back(fmt::format("stages.{}", i));
  return names;
}

class ResnetSmall final : public ImageNetwork {
 public:
  // Stages after the layer that is asked for are left out.
  ResnetSmall(Parameters& parameters, const VisionConfig& config)
      : size_(config.size), stem_(parameters, prefix() + "stem", 3, kResnetChannels[0], window_of(3, 2, size_)) {
    const int64_t last = layer_index(config, layer_names());
    check(last > 0 || config.nonlocal == "none", "vision.nonlocal: expected a vision.layer after the stem");
    pixels_ = (size_ + 1) / 2;
    channels_ = kResnetChannels[0];
    for (int64_t stage = 0; stage < last; ++stage) {
      const int64_t out = kResnetChannels[static_cast<size_t>(stage)];
      for (int64_t block = 0; block < kResnetBlocksOfStage; ++block) {
        if (config.nonlocal != "none" && stage + 1 == last && block + 1 == kResnetBlocksOfStage) {
          nonlocal_.emplace(parameters, prefix() + "nonlocal", config.nonlocal, channels_, subsamples(pixels_));
        }
        const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
        blocks_.emplace_back(parameters, prefix() + fmt::format("stages.{}.{}", stage, block), channels_, out, stride,
                             pixels_);
        pixels_ = (pixels_ + stride - 1) / stride;
        channels_ = out;
      }
    }
  }

  FeatureMap operator()(const Var& images, Capture capture) const override {
    FeatureMap features;
    Var x = relu(stem_(cast(images, activation_type(stem_.conv().weight().value()))));
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (nonlocal_ && i + 1 == blocks_.size()) x = (*nonlocal_)(x, capture, features.attentions);
      x = blocks_[i](x);
    }
    features.map = x;
    return features;
  }
  Shape map_shape() const override { return {pixels_, pixels_, channels_}; }
  Tensor normalise(std::span<const Image> images, Device device) const override {
    return normalised(images, size_, kResnetCenter, kResnetScale, device);
  }
  std::vector<AttentionInfo> attentions() const override {
    return nonlocal_ ? std::vector{nonlocal_->info()} : std::vector<AttentionInfo>{};
  }

 private:
  static std::string prefix() { return std::string(kVisionPrefix); }

  int64_t size_;
  ConvNorm stem_;
  std::deque<ResidualBlock> blocks_;
  std::optional<NonLocal> nonlocal_;
  int64_t pixels_ = 0, channels_ = 0;  // of the feature map
};

}  // namespace

std::unique_ptr<ImageNetwork> make_resnet_small(Parameters& parameters, const VisionConfig& config) {
  return std::make_unique<ResnetSmall>(parameters, config);
}

}  // namespace fovea
