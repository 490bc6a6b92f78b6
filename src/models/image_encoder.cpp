#include "models/image_encoder.h"

#include "models/positions.h"

namespace fovea {

namespace {

VisionConfig without_nonlocal(VisionConfig config) {
  config.nonlocal = "none";
  return config;
}

// The map of a network that is declared elsewhere.
Shape map_of(const VisionConfig& config) {
  Parameters never_allocated(Device::reference());
  return make_image_network(never_allocated, without_nonlocal(config))->map_shape();
}

Tensor sinusoids(int64_t rows, int64_t columns, int64_t depth, Device device) {
  const ArenaScope heap(nullptr);  // captured CUDA graphs read it at its address
  return from_host(sinusoidal_grid(rows, columns, depth), {rows * columns, depth}, device);
}

}  // namespace

FeatureExtractor::FeatureExtractor(const VisionConfig& config, Device device, std::optional<uint64_t> seed)
    : config_(without_nonlocal(config)), parameters_(device), arena_(device) {
  network_ = make_image_network(parameters_, config_);
  if (seed) {
    parameters_.allocate(*seed);
  } else {
    parameters_.allocate_unset();
  }
}

Tensor FeatureExtractor::operator()(std::span<const Image> images) const {
  const std::lock_guard lock(mutex_);
  arena_.rewind();
  const ArenaScope scope(&arena_);
  const Var map = cast((*network_)(network_->normalise(images, parameters_.device())).map, DType::kF32);
  const ArenaScope heap(nullptr);
  const Tensor kept = empty_like(map.value());
  copy(map.value(), kept);
  return kept;
}

ImageEncoder::ImageEncoder(Parameters& parameters, const VisionConfig& config)
    : dropout_(static_cast<float>(config.dropout)) {
  if (!config.frozen) network_ = make_image_network(parameters, config);
  map_ = network_ ? network_->map_shape() : map_of(config);
  depth_ = config.depth > 0 ? config.depth : map_[2];
  if (config.depth > 0) projection_.emplace(parameters, "encoder.projection", map_[2], depth_);
  if (!network_ && config.nonlocal != "none") {
    nonlocal_.emplace(parameters, "encoder.nonlocal", config.nonlocal, depth_, subsamples(map_[0]));
  }
  if (config.positions == "learned") {
    learned_ = &parameters.add("encoder.positions", {map_[0] * map_[1], depth_}, Initialiser::normal(0.02));
  } else if (config.positions == "sinusoidal") {
    sinusoids_ = sinusoids(map_[0], map_[1], depth_, parameters.device());
  }
}

Encoded ImageEncoder::operator()(const Source& source, Capture capture, std::span<const WeightEdit>) const {
  Encoded encoded;
  Var map = source.images;
  if (network_) {
    FeatureMap features = (*network_)(map, capture);
    map = features.map;
    encoded.attentions = std::move(features.attentions);
  }
  check(map.rank() == 4 && map.dim(1) == map_[0] && map.dim(2) == map_[1] && map.dim(3) == map_[2],
        "image encoder: expected feature maps [B,{},{},{}], got {}", map_[0], map_[1], map_[2], map.shape());
  const int64_t batch = map.dim(0), cells = map_[0] * map_[1];
  map = dropout(cast(map, activation_type(map.value())), dropout_);
  if (projection_) map = (*projection_)(map);
  if (nonlocal_) map = (*nonlocal_)(map, capture, encoded.attentions);
  Var states = map.reshape({batch, cells, depth_});
  if (learned_ != nullptr || sinusoids_) {
    const Var positions = learned_ != nullptr ? learned_->var() : Var(sinusoids_);
    states = states + cast(positions, states.dtype()).reshape({1, cells, depth_});
  }
  encoded.states = permute(states, {1, 0, 2});
  return encoded;
}

std::vector<AttentionInfo> ImageEncoder::attentions() const {
  if (network_) return network_->attentions();
  return nonlocal_ ? std::vector{nonlocal_->info()} : std::vector<AttentionInfo>{};
}

}  // namespace fovea
