#include "models/image_network.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "attention/registry.h"
#include "base/threads.h"

namespace fovea {

namespace {

constexpr std::array kNetworks = {
    ImageNetworkEntry{"mobilenet-edgetpu",
                      "MobileNetEdgeTPU 1.0, 22 blocks of convolutions, for weights trained on ImageNet.",
                      make_mobilenet_edgetpu},
    ImageNetworkEntry{"resnet-small", "Three stages of residual blocks with 16, 32 and 64 channels, with batch norm.",
                      make_resnet_small},
};

}  // namespace

std::span<const ImageNetworkEntry> image_networks() { return kNetworks; }

std::unique_ptr<ImageNetwork> make_image_network(Parameters& parameters, const VisionConfig& config) {
  const ImageNetworkEntry* entry = find_entry(image_networks(), config.network);
  check(entry != nullptr, "vision.network: expected one of {}, got {}", fmt::join(names_of(image_networks()), ", "),
        config.network);
  check(config.size > 0, "vision.size: expected a size above 0, got {}", config.size);
  return entry->make(parameters, config);
}

Tensor normalised(std::span<const Image> images, int64_t size, float center, float scale, Device device) {
  const int64_t elements = size * size * 3, count = std::ssize(images);
  std::array<float, 256> value{};
  for (size_t i = 0; i < value.size(); ++i) value[i] = (static_cast<float>(i) - center) * scale;
  std::vector<float> floats(static_cast<size_t>(count * elements));
  for (const Image& image : images) {
    check(image.width == size && image.height == size && std::ssize(image.pixels) == elements,
          "normalise: expected a picture of {0}x{0} pixels, got {1}x{2} with {3} bytes", size, image.width,
          image.height, image.pixels.size());
  }
  parallel_for(count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const Image& image = images[static_cast<size_t>(b)];
      std::transform(image.pixels.begin(), image.pixels.end(), floats.begin() + b * elements,
                     [&](uint8_t pixel) { return value[pixel]; });
    }
  });
  return from_host(floats, {count, size, size, 3}, device);
}

int64_t layer_index(const VisionConfig& config, std::span<const std::string> layers) {
  if (config.layer.empty()) return std::ssize(layers) - 1;
  const auto found = std::find(layers.begin(), layers.end(), config.layer);
  check(found != layers.end(), "vision.layer: expected one of {} in the network {}, got {}", fmt::join(layers, ", "),
        config.network, config.layer);
  return found - layers.begin();
}

}  // namespace fovea
