// MobileNetEdgeTPU 1.0: MobileNet v2's inverted residual blocks (Sandler et al. 2018), of which the first ones are
// "fused": one full convolution instead of a 1x1 expansion and a depthwise convolution. Batch norm is folded into the
// convolutions. Padding is TensorFlow's SAME.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "models/image_network.h"
#include "models/mobilenet_edgetpu.h"
#include "models/nonlocal.h"

namespace fovea {

namespace {

using BlockSizes = MobileNetBlock;
using Kind = BlockSizes::Kind;

// He et al. 2015: keeps the variance of what passes through rectifiers.
Conv2d::Options he(int64_t fan_in) {
  return {.initialiser = Initialiser::normal(std::sqrt(2.0 / static_cast<double>(fan_in)))};
}

// The output of `in` pixels along an axis.
int64_t pixels_after(int64_t in, int64_t stride) { return (in + stride - 1) / stride; }

class Block {
 public:
  // in: pixels along an axis and channels.
  Block(Parameters& parameters, const std::string& name, const BlockSizes& sizes, int64_t pixels, int64_t in,
        bool residual)
      : residual_(residual),
        project_(parameters, name + ".project", sizes.expanded, sizes.out, {}, he(2 * sizes.expanded)) {
    const Window window = same_padding(
        {.height = sizes.window, .width = sizes.window, .stride_y = sizes.stride, .stride_x = sizes.stride}, pixels,
        pixels);
    const std::string expand = name + ".expand";
    if (sizes.kind == Kind::kFused) {
      expand_.emplace(parameters, expand, in, sizes.expanded, window, he(in * sizes.window * sizes.window));
    } else if (sizes.kind == Kind::kDepthwise) {
      expand_.emplace(parameters, expand, in, sizes.expanded, Window{}, he(in));
      depthwise_.emplace(parameters, name + ".depthwise", sizes.expanded, window);
    }
  }
  Var operator()(const Var& x) const {
    Var y = expand_ ? (*expand_)(x, {.relu = true}) : x;
    if (depthwise_) y = (*depthwise_)(y, /*rectified=*/true);
    return project_(y, {.residual = residual_ ? x : Var()});
  }

 private:
  bool residual_;
  std::optional<Conv2d> expand_;
  std::optional<DepthwiseConv2d> depthwise_;
  Conv2d project_;
};

std::vector<std::string> layer_names() {
  std::vector<std::string> names = {"stem"};
  for (size_t i = 0; i < kMobileNetBlocks.size(); ++i) names.push_back(fmt::format("blocks.{}", i));
  names.emplace_back("head");
  return names;
}

class MobileNetEdgeTpu final : public ImageNetwork {
 public:
  // Layers after the one that is asked for are left out.
  MobileNetEdgeTpu(Parameters& parameters, const VisionConfig& config)
      : size_(config.size),
        stem_(parameters, prefix() + "stem", 3, kMobileNetStem,
              same_padding({.height = 3, .width = 3, .stride_y = 2, .stride_x = 2}, size_, size_), he(27)) {
    const int64_t last = layer_index(config, layer_names());
    pixels_ = pixels_after(size_, 2);
    channels_ = kMobileNetStem;
    for (int64_t layer = 1; layer <= last; ++layer) {
      if (layer == last && config.nonlocal != "none") {
        nonlocal_.emplace(parameters, prefix() + "nonlocal", config.nonlocal, channels_, subsamples(pixels_));
      }
      const auto i = static_cast<size_t>(layer - 1);
      if (i == kMobileNetBlocks.size()) {
        head_.emplace(parameters, prefix() + "head", channels_, kMobileNetHead, Window{}, he(channels_));
        channels_ = kMobileNetHead;
        break;
      }
      const BlockSizes& sizes = kMobileNetBlocks[i];
      const bool residual = sizes.stride == 1 && sizes.out == channels_ && i != kMobileNetWithoutResidual;
      blocks_.emplace_back(parameters, prefix() + fmt::format("blocks.{}", i), sizes, pixels_, channels_, residual);
      pixels_ = pixels_after(pixels_, sizes.stride);
      channels_ = sizes.out;
    }
    check(last > 0 || config.nonlocal == "none", "vision.nonlocal: expected a vision.layer after the stem");
  }

  FeatureMap operator()(const Var& images, Capture capture) const override {
    FeatureMap features;
    Var x = stem_(cast(images, activation_type(stem_.weight().value())), {.relu = true});
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (nonlocal_ && !head_ && i + 1 == blocks_.size()) x = (*nonlocal_)(x, capture, features.attentions);
      x = blocks_[i](x);
    }
    if (nonlocal_ && head_) x = (*nonlocal_)(x, capture, features.attentions);
    features.map = head_ ? (*head_)(x, {.relu = true}) : x;
    return features;
  }
  Shape map_shape() const override { return {pixels_, pixels_, channels_}; }
  Tensor normalise(std::span<const Image> images, Device device) const override {
    return normalised(images, size_, kMobileNetCenter, kMobileNetScale, device);
  }
  std::vector<AttentionInfo> attentions() const override {
    return nonlocal_ ? std::vector{nonlocal_->info()} : std::vector<AttentionInfo>{};
  }

 private:
  static std::string prefix() { return std::string(kVisionPrefix); }

  int64_t size_;
  Conv2d stem_;
  std::deque<Block> blocks_;
  std::optional<NonLocal> nonlocal_;
  std::optional<Conv2d> head_;
  int64_t pixels_ = 0, channels_ = 0;  // of the feature map
};

}  // namespace

std::unique_ptr<ImageNetwork> make_mobilenet_edgetpu(Parameters& parameters, const VisionConfig& config) {
  return std::make_unique<MobileNetEdgeTpu>(parameters, config);
}

}  // namespace fovea
