// The encoder of pictures, as models/image_encoder.cpp.
#include "models/positions.h"
#include "onnx/encoders.h"
#include "onnx/image_networks.h"

namespace fovea::onnx {

Encoded encode_images(const VisionConfig& config, const ImageMap& map, const Value& images) {
  Graph& g = images.graph();
  const Value cells = reshape(transpose(image_network(config, images), {0, 2, 3, 1}), {0, map.rows * map.columns, -1});
  const int64_t depth = config.depth > 0 ? config.depth : map.channels;
  Value states = config.depth > 0 ? linear("encoder.projection", cells) : cells;
  if (config.positions == "learned") states = states + g.weight("encoder.positions");
  if (config.positions == "sinusoidal") {
    states = states + g.tensor("sinusoids", {map.rows * map.columns, depth},
                               [&] { return sinusoidal_grid(map.rows, map.columns, depth); });
  }
  return {.states = states, .depth = depth};
}

}  // namespace fovea::onnx
