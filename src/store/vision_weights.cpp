#include "store/vision_weights.h"

#include <algorithm>

#include "base/error.h"
#include "store/safetensors.h"

namespace fovea {

namespace {

bool of_network(const Parameter& p) { return p.name().starts_with(kVisionPrefix); }
std::string name_in_file(const Parameter& p) { return p.name().substr(kVisionPrefix.size()); }

// Layouts of a convolution: [O,h,w,C] in memory is [O,C,h,w] in a file, and [h,w,C] of a depthwise one is [C,1,h,w].
Shape shape_in_file(const Shape& s) {
  if (s.rank() == 4) return {s[0], s[3], s[1], s[2]};
  if (s.rank() == 3) return {s[2], 1, s[0], s[1]};
  return s;
}
Tensor from_file_layout(const Tensor& x, const Shape& shape) {
  if (shape.rank() == 4) return permute(Var(x), {0, 2, 3, 1}).value();
  if (shape.rank() == 3) return permute(Var(x), {2, 3, 0, 1}).value().reshape(shape);
  return x;
}
Tensor to_file_layout(const Tensor& x) {
  const Shape shape = shape_in_file(x.shape());
  if (x.rank() == 4) return permute(Var(x), {0, 3, 1, 2}).value();
  if (x.rank() == 3) return permute(Var(x), {2, 0, 1}).value().reshape(shape);
  return x;
}

constexpr std::string_view kNonLocal = "nonlocal.";

}  // namespace

void load_network_weights(const std::string& path, const Parameters& parameters) {
  const SafetensorsFile file(path);
  const std::vector<std::string> names = file.names();
  for (const Parameter& p : parameters.list()) {
    if (!of_network(p)) continue;
    const std::string name = name_in_file(p);
    const bool present = std::binary_search(names.begin(), names.end(), name);
    if (!present && name.starts_with(kNonLocal)) continue;
    const Tensor read = empty(shape_in_file(p.shape()), DType::kF32, parameters.device());
    check(present, "{}: expected a tensor {} of shape {}, got none", path, name, read.shape());
    file.read(name, read);
    copy(from_file_layout(read, p.shape()), p.value());
  }
  parameters.values().contents_changed();
}

void save_network_weights(const std::string& path, const Parameters& parameters, bool packed) {
  std::vector<NamedTensor> tensors;
  for (const Parameter& p : parameters.list()) {
    if (of_network(p)) tensors.push_back({name_in_file(p), to_device(to_file_layout(p.value()), Device::cpu())});
  }
  const auto write = packed ? write_packed_safetensors : write_safetensors;
  write(path, tensors, {{"format", "fovea"}, {"layout", "OIHW"}});
}

std::string network_weights_path(const std::string& folder) { return folder + "/vision.safetensors"; }

std::unique_ptr<FeatureExtractor> load_feature_extractor(const VisionConfig& config, const std::string& path,
                                                         Device device) {
  auto extractor = std::make_unique<FeatureExtractor>(config, device);
  load_network_weights(path, extractor->parameters());
  return extractor;
}

}  // namespace fovea
