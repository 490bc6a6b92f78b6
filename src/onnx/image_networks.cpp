#include "onnx/image_networks.h"

#include <fmt/format.h>

#include "models/image_network.h"
#include "models/mobilenet_edgetpu.h"
#include "models/resnet_small.h"

namespace fovea::onnx {

namespace {

std::string vision(const std::string& name) { return std::string(kVisionPrefix) + name; }

// With frozen networks the block is in the encoder.
bool has_nonlocal(const Graph& g) { return g.has_weight(vision("nonlocal.g.weight")); }
Map nonlocal_block(const VisionConfig& config, const Map& x, NonLocalWeights& weights) {
  return nonlocal(vision("nonlocal"), config.nonlocal, x, weights);
}

// A convolution with TensorFlow's SAME padding. Weights are [O,height,width,C], or [height,width,C] of a depthwise
// convolution; ONNX's are [O,C,height,width].
Map conv(const std::string& name, const Map& in, int64_t stride) {
  Graph& g = in.x.graph();
  const Shape shape = g.parameter(name + ".weight").shape();
  const bool depthwise = shape.rank() == 3;
  const int64_t outputs = depthwise ? shape[2] : shape[0], cells = depthwise ? shape[0] : shape[1];
  const int64_t channels = depthwise ? 1 : shape[3], groups = depthwise ? outputs : 1;
  const Value weight = g.tensor(name + ".weight", {outputs, channels, cells, cells}, [&] {
    const std::vector<float> ours = elements_of(g.parameter(name + ".weight"));
    std::vector<float> values;
    for (int64_t o = 0; o < outputs; ++o)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < cells * cells; ++i) {
          const int64_t at = depthwise ? i * outputs + o : (o * cells * cells + i) * channels + c;
          values.push_back(ours[static_cast<size_t>(at)]);
        }
    return values;
  });
  const Window w =
      same_padding({.height = cells, .width = cells, .stride_y = stride, .stride_x = stride}, in.pixels, in.pixels);
  std::vector<Value> inputs = {in.x, weight};
  if (g.has_weight(name + ".bias")) inputs.push_back(g.weight(name + ".bias"));
  const std::vector<int64_t> pads = {w.pad_y, w.pad_x, w.pad_y + w.extra_y, w.pad_x + w.extra_x};
  const Value y = g.node("Conv", inputs, {{"group", groups}, {"pads", pads}, {"strides", std::vector(2, stride)}});
  return {y, (in.pixels + stride - 1) / stride};
}

Map relu(const Map& map) { return {onnx::relu(map.x), map.pixels}; }

Map batch_norm(const std::string& name, const Map& map) {
  Graph& g = map.x.graph();
  return {g.node("BatchNormalization",
                 {map.x, g.weight(name + ".gamma"), g.weight(name + ".beta"), g.weight(name + ".running_mean"),
                  g.weight(name + ".running_variance")},
                 {{"epsilon", 1e-5f}}),
          map.pixels};
}

// (u8 - center) * scale, channels first.
Map normalise(const Value& images, int64_t size, float center, float scale) {
  return {transpose((cast(images, Type::kFloat) + -center) * scale, {0, 3, 1, 2}), size};
}

Map mobilenet_block(const std::string& name, const MobileNetBlock& sizes, bool residual, const Map& x) {
  Map y = x;
  if (sizes.kind != MobileNetBlock::kProjectOnly)
    y = relu(conv(name + ".expand", y, sizes.kind == MobileNetBlock::kFused ? sizes.stride : 1));
  if (sizes.kind == MobileNetBlock::kDepthwise) y = relu(conv(name + ".depthwise", y, sizes.stride));
  y = conv(name + ".project", y, 1);
  return residual ? Map{y.x + x.x, y.pixels} : y;
}

// Layers after the one that attention reads have no parameters. A non-local block is before the last layer.
Map mobilenet_edgetpu(const VisionConfig& config, const Value& images, NonLocalWeights& weights) {
  Graph& g = images.graph();
  const auto block_name = [](size_t i) { return vision(fmt::format("blocks.{}", i)); };
  const auto has_block = [&](size_t i) {
    return i < kMobileNetBlocks.size() && g.has_weight(block_name(i) + ".project.weight");
  };
  const bool head = g.has_weight(vision("head.weight"));
  Map x = normalise(images, config.size, kMobileNetCenter, kMobileNetScale);
  x = relu(conv(vision("stem"), x, 2));
  int64_t channels = kMobileNetStem;
  for (size_t i = 0; has_block(i); ++i) {
    const Graph::Scope scope(g, block_name(i));
    if (has_nonlocal(g) && !head && !has_block(i + 1)) x = nonlocal_block(config, x, weights);
    const MobileNetBlock& sizes = kMobileNetBlocks[i];
    const bool residual = sizes.stride == 1 && sizes.out == channels && i != kMobileNetWithoutResidual;
    x = mobilenet_block(block_name(i), sizes, residual, x);
    channels = sizes.out;
  }
  if (!head) return x;
  if (has_nonlocal(g)) x = nonlocal_block(config, x, weights);
  return relu(conv(vision("head"), x, 1));
}

Map conv_norm(const std::string& name, const Map& x, int64_t stride) {
  return batch_norm(name + ".norm", conv(name, x, stride));
}

Map resnet_block(const std::string& name, const Map& x, int64_t stride) {
  const Map y = conv_norm(name + ".second", relu(conv_norm(name + ".first", x, stride)), 1);
  const bool projects = x.x.graph().has_weight(name + ".shortcut.weight");
  return {onnx::relu(y.x + (projects ? conv_norm(name + ".shortcut", x, stride).x : x.x)), y.pixels};
}

// A non-local block is before the last residual block.
Map resnet_small(const VisionConfig& config, const Value& images, NonLocalWeights& weights) {
  Graph& g = images.graph();
  Map x = relu(conv_norm(vision("stem"), normalise(images, config.size, kResnetCenter, kResnetScale), 2));
  for (size_t stage = 0; stage < kResnetChannels.size(); ++stage) {
    for (int64_t block = 0; block < kResnetBlocksOfStage; ++block) {
      const std::string name = vision(fmt::format("stages.{}.{}", stage, block));
      if (!g.has_weight(name + ".first.weight")) return x;
      const Graph::Scope scope(g, name);
      const bool last = block + 1 == kResnetBlocksOfStage &&
                        !g.has_weight(vision(fmt::format("stages.{}.0.first.weight", stage + 1)));
      if (has_nonlocal(g) && last) x = nonlocal_block(config, x, weights);
      x = resnet_block(name, x, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  return x;
}

}  // namespace

Map image_network(const VisionConfig& config, const Value& images, NonLocalWeights& weights) {
  if (config.network == "mobilenet-edgetpu") return mobilenet_edgetpu(config, images, weights);
  check(config.network == "resnet-small", "onnx: expected vision.network = mobilenet-edgetpu or resnet-small, got {}",
        config.network);
  return resnet_small(config, images, weights);
}

}  // namespace fovea::onnx
