// Weights of convolutional networks in files, and the pretrained network against the outputs that onnxruntime computed
// with the same weights. The latter needs files that are not part of this repository.
#include "store/vision_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "npz.h"
#include "store/safetensors.h"
#include "support.h"
#include "temporary_folder.h"

namespace fovea {
namespace {

const std::string kPretrained = [] {
  const char* folder = std::getenv("FOVEA_MOBILENET");
  return std::string(folder != nullptr ? folder : FOVEA_SHARED_DATA "/mobilenet-edgetpu");
}();

VisionConfig small(const std::string& network) {
  VisionConfig config;
  config.network = network;
  config.size = 32;
  return config;
}

Image striped(int64_t size, int64_t stride) {
  Image image{size, size, std::vector<uint8_t>(static_cast<size_t>(size * size * 3))};
  for (size_t i = 0; i < image.pixels.size(); ++i) image.pixels[i] = static_cast<uint8_t>(i * i / stride % 251);
  return image;
}

class VisionWeights : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Networks, VisionWeights, ::testing::Values("mobilenet-edgetpu", "resnet-small"),
                         [](const auto& test) { return test.param == "resnet-small" ? "resnet_small" : "mobilenet"; });

TEST_P(VisionWeights, AreSavedAndLoaded) {
  const TemporaryFolder folder;
  const VisionConfig config = small(GetParam());
  Parameters trained(Device::cpu());
  const auto network = make_image_network(trained, config);
  const Parameter& other = trained.add("decoder.weight", {3, 3}, Initialiser::glorot());
  trained.allocate(7);
  const std::vector<Image> images = {striped(32, 3), striped(32, 17)};
  const std::vector<float> expected = to_host<float>((*network)(network->normalise(images, Device::cpu())).map.value());
  double most = 0;
  for (const float x : expected) most = std::max(most, std::abs(double{x}));
  ASSERT_GT(most, 0.1);
  for (const bool packed : {false, true}) {
    const std::string path = network_weights_path(folder.path());
    save_network_weights(path, trained, packed);
    EXPECT_FALSE(SafetensorsFile(path).has("decoder.weight", other.shape()));
    const auto loaded = load_feature_extractor(config, path, Device::cpu());
    const std::vector<float> got = to_host<float>((*loaded)(images));
    ASSERT_EQ(got.size(), expected.size());
    double error = 0;
    for (size_t i = 0; i < got.size(); ++i) error = std::max(error, std::abs(double{got[i]} - double{expected[i]}));
    EXPECT_EQ(error > 0, packed);
    EXPECT_LT(error, 0.1 * most);
  }
  const std::string path = network_weights_path(folder.path());
  save_network_weights(path, trained, false);
  const auto plain = std::filesystem::file_size(path);
  save_network_weights(path, trained, true);
  EXPECT_LT(std::filesystem::file_size(path), 0.35 * static_cast<double>(plain));
}

TEST(VisionWeights, ErrorsNameTensorAndShapes) {
  const TemporaryFolder folder;
  const std::string path = folder.file("w.safetensors");
  const auto write = [&](const std::vector<NamedTensor>& tensors) { write_safetensors(path, tensors, {}); };
  const auto load = [&] { load_feature_extractor(small("mobilenet-edgetpu"), path, Device::cpu()); };
  EXPECT_ERROR(load(), "w.safetensors: cannot open");
  write({});
  EXPECT_ERROR(load(), path + ": expected a tensor stem.weight of shape [32,3,3,3], got none");
  write({{"stem.weight", zeros({32, 3, 5, 3}, DType::kF32, Device::cpu())}});
  EXPECT_ERROR(load(), path + ": stem.weight: expected shape [32,3,3,3], got [32,3,5,3]");
  write({{"stem.weight", zeros({32, 3, 3, 3}, DType::kI32, Device::cpu())}});
  EXPECT_ERROR(load(), path + ": stem.weight: expected F32, got I32");
  write({{"stem.weight", zeros({32, 3, 3, 3}, DType::kF32, Device::cpu())}});
  EXPECT_ERROR(load(), path + ": expected a tensor stem.bias of shape [32], got none");
  folder.file("w.safetensors", "not at all safetensors");
  EXPECT_ERROR(load(), "w.safetensors: expected a safetensors header");
}

// ---- the pretrained network ----

class Pretrained : public ::testing::Test {
 protected:
  static constexpr int64_t kImages = 3, kSide = 224, kClasses = 1001, kChannels = 1280;
  void SetUp() override {
    if (!std::filesystem::exists(kPretrained + "/reference.npz")) {
      GTEST_SKIP() << kPretrained << " is not there (FOVEA_MOBILENET names another folder)";
    }
    const NpzFile reference(kPretrained + "/reference.npz");
    const std::vector<uint8_t> rgb = reference.read<uint8_t>("rgb");
    for (int64_t b = 0; b < kImages; ++b) {
      const auto image = rgb.begin() + b * kSide * kSide * 3;
      images.push_back({kSide, kSide, {image, image + kSide * kSide * 3}});
    }
    expected = reference.read<float>("feat_float");
    logits = reference.read<float>("logits_float");
  }
  std::string file() const { return kPretrained + "/model.safetensors"; }

  // The classes that the original's classifier gives to feature maps.
  std::vector<int32_t> classes_of(const Tensor& map) const {
    const SafetensorsFile weights(file());
    const Tensor weight = empty({kClasses, kChannels}, DType::kF32, Device::cpu());
    const Tensor bias = empty({kClasses}, DType::kF32, Device::cpu());
    weights.read("classifier.weight", weight);
    weights.read("classifier.bias", bias);
    const Var pooled = mean(Var(map.reshape({kImages, map.size() / kImages / kChannels, kChannels})), 1);
    return to_host<int32_t>(argmax(linear(pooled, weight, bias).value(), 1));
  }
  std::vector<int32_t> expected_classes() const {
    return to_host<int32_t>(argmax(from_host(logits, {kImages, kClasses}, Device::cpu()), 1));
  }

  std::vector<Image> images;
  std::vector<float> expected, logits;
};

TEST_F(Pretrained, FeaturesAndClassesAreThoseOfOnnxruntime) {
  const auto extractor = load_feature_extractor({}, file(), Device::cpu());
  EXPECT_EQ(extractor->map_shape(), (Shape{7, 7, kChannels}));
  const Tensor map = (*extractor)(images);
  const std::vector<float> got = to_host<float>(map);
  ASSERT_EQ(got.size(), expected.size());
  double error = 0, most = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error = std::max(error, std::abs(double{got[i]} - double{expected[i]}));
    most = std::max(most, std::abs(double{expected[i]}));
  }
  EXPECT_GT(most, 10);
  EXPECT_LT(error, 1e-3);
  RecordProperty("largest_error", std::to_string(error));
  EXPECT_EQ(classes_of(map), expected_classes());
}

TEST_F(Pretrained, ClassesAreTheSameInEightBits) {
  const TemporaryFolder folder;
  const auto extractor = load_feature_extractor({}, file(), Device::cpu());
  save_network_weights(network_weights_path(folder.path()), extractor->parameters(), true);
  EXPECT_LT(std::filesystem::file_size(network_weights_path(folder.path())), 3'000'000u);
  const auto packed = load_feature_extractor({}, network_weights_path(folder.path()), Device::cpu());
  EXPECT_EQ(classes_of((*packed)(images)), expected_classes());
}

TEST_F(Pretrained, HasTheDocumentedTaps) {
  for (const auto& [layer, shape] : {std::pair{"blocks.8", Shape{28, 28, 48}},
                                     {"blocks.16", Shape{14, 14, 96}},
                                     {"blocks.21", Shape{7, 7, 192}},
                                     {"head", Shape{7, 7, 1280}}}) {
    VisionConfig config;
    config.layer = layer;
    const auto extractor = load_feature_extractor(config, file(), Device::cpu());
    EXPECT_EQ(extractor->map_shape(), shape) << layer;
    EXPECT_EQ((*extractor)(std::span(images).first(1)).shape(), shape.prepended(1)) << layer;
  }
}

}  // namespace
}  // namespace fovea
