// The encoder of pictures, as models/image_encoder.cpp.
#include "models/positions.h"
#include "onnx/encoders.h"
#include "onnx/image_networks.h"

namespace fovea::onnx {

Encoded encode_images(const VisionConfig& config, int64_t depth, const Value& images) {
  Graph& g = images.graph();
  NonLocalWeights weights;
  Map map = image_network(config, images, weights);
  if (config.depth > 0) {
    map.x = transpose(linear("encoder.projection", transpose(map.x, {0, 2, 3, 1})), {0, 3, 1, 2});
  }
  if (g.has_weight("encoder.nonlocal.g.weight")) map = nonlocal("encoder.nonlocal", config.nonlocal, map, weights);
  const int64_t cells = map.pixels * map.pixels;
  Encoded encoded{.states = transpose(reshape(map.x, {0, 0, cells}), {0, 2, 1}), .depth = depth};
  if (config.positions == "learned") encoded.states = encoded.states + g.weight("encoder.positions");
  if (config.positions == "sinusoidal") {
    encoded.states = encoded.states + g.tensor("sinusoids", {cells, depth},
                                               [&] { return sinusoidal_grid(map.pixels, map.pixels, depth); });
  }
  if (weights.weights) {
    encoded.attentions = {
        {"encoder_self_attention", Type::kFloat, {kBatch, int64_t{1}, int64_t{1}, weights.rows, weights.columns}},
        weights.weights};
  }
  return encoded;
}

}  // namespace fovea::onnx
