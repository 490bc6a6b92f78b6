// The networks of pictures and the encoder that attends over their feature maps.
#include "models/image_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attention/registry.h"
#include "base/random.h"
#include "models/model.h"
#include "support.h"

namespace fovea {
namespace {

const Device kReference = Device::reference();

std::vector<Image> pictures(int64_t count, int64_t size) {
  Random random(3);
  std::vector<Image> all;
  for (int64_t i = 0; i < count; ++i) {
    Image image{size, size, std::vector<uint8_t>(static_cast<size_t>(size * size * 3))};
    for (uint8_t& pixel : image.pixels) pixel = static_cast<uint8_t>(random.below(256));
    all.push_back(std::move(image));
  }
  return all;
}

VisionConfig small(const std::string& network, int64_t size = 33) {
  VisionConfig config;
  config.network = network;
  config.size = size;
  return config;
}

class Network : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Networks, Network, ::testing::ValuesIn(names_of(image_networks())), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST_P(Network, ItsMapHasTheShapeThatItSays) {
  for (const int64_t size : {32, 33, 47}) {
    const FeatureExtractor extractor(small(GetParam(), size), Device::cpu(), 1);
    EXPECT_EQ(extractor(pictures(2, size)).shape(), extractor.map_shape().prepended(2));
  }
}

TEST_P(Network, AgreesWithTheReferenceDevice) {
  const VisionConfig config = small(GetParam(), 32);
  const FeatureExtractor ours(config, Device::cpu(), 5), reference(config, kReference, 5);
  const std::vector<Image> images = pictures(2, 32);
  const std::vector<float> got = to_host<float>(ours(images)), expected = to_host<float>(reference(images));
  float most = 0;
  for (const float x : expected) most = std::max(most, std::abs(x));
  ASSERT_GT(most, 0.1f);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], expected[i], 1e-4f * most) << i;
}

TEST_P(Network, APictureDoesNotDependOnTheOthers) {
  const FeatureExtractor extractor(small(GetParam()), Device::cpu(), 2);
  const std::vector<Image> images = pictures(3, 33);
  const Tensor all = extractor(images), alone = extractor(std::span(images).subspan(1, 1));
  const std::vector<float> a = to_host<float>(all[1]), b = to_host<float>(alone[0]);
  float most = 0;
  for (const float x : a) most = std::max(most, std::abs(x));
  for (size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-5f * most);
}

TEST_P(Network, RefusesLayersAndPicturesThatItDoesNotHave) {
  VisionConfig config = small(GetParam());
  config.layer = "blocks.99";
  Parameters parameters(Device::cpu());
  EXPECT_ERROR(make_image_network(parameters, config), "vision.layer: expected one of stem, ");
  const FeatureExtractor extractor(small(GetParam()), Device::cpu(), 1);
  EXPECT_ERROR(extractor(pictures(1, 32)), "normalise: expected a picture of 33x33 pixels, got 32x32");
  config.layer = "stem";
  config.nonlocal = "dot";
  Parameters others(Device::cpu());
  EXPECT_ERROR(make_image_network(others, config), "vision.nonlocal: expected a vision.layer after the stem");
}

TEST_P(Network, ANonLocalBlockStartsAsTheIdentityAndIsCaptured) {
  const VisionConfig plain = small(GetParam(), 64);
  VisionConfig with = plain;
  with.nonlocal = "embedded-gaussian";
  Parameters first(Device::cpu()), second(Device::cpu());
  const auto a = make_image_network(first, plain), b = make_image_network(second, with);
  first.allocate(1);
  second.allocate(1);
  EXPECT_GT(second.count(), first.count());
  for (const Parameter& p : first.list()) copy(p.value(), second.find(p.name()).value());
  second.values().contents_changed();
  const Tensor images = a->normalise(pictures(2, 64), Device::cpu());
  const FeatureMap map = (*b)(images, Capture(true));
  EXPECT_EQ(to_host<float>(map.map.value()), to_host<float>((*a)(images).map.value()));
  ASSERT_EQ(map.attentions.size(), 1u);
  EXPECT_EQ(map.attentions[0].kind, AttentionKind::kEncoderSelf);
  EXPECT_EQ(map.attentions[0].weights.dim(2), map.attentions[0].weights.dim(3));
  EXPECT_EQ(b->attentions().size(), 1u);
  EXPECT_TRUE(a->attentions().empty());
}

// ---- training ----

TEST(ResnetSmall, HasTheGradientItShould) {
  Parameters parameters(kReference, DType::kF64);
  VisionConfig config = small("resnet-small", 8);
  config.nonlocal = "dot";
  const auto network = make_image_network(parameters, config);
  parameters.allocate(2);
  Random random(1);
  for (const Parameter& p : parameters.list()) {  // the block would stay the identity
    for (int64_t i = 0; p.name().find("nonlocal.out") != std::string::npos && i < p.shape().count(); ++i) {
      p.value().data<double>()[i] = random.uniform(-0.3, 0.3);
    }
  }
  std::vector<double> pixels(3 * 8 * 8 * 3), share(static_cast<size_t>(3 * network->map_shape().count()));
  for (double& x : pixels) x = random.uniform(-1, 1);
  for (double& x : share) x = random.uniform(-1, 1);
  const Tensor images = from_host(pixels, {3, 8, 8, 3}, kReference);
  const Tensor shares = from_host(share, network->map_shape().prepended(3), kReference);
  Tape tape(kReference);
  const auto loss = [&](bool backward) {  // a pass in training, so that batches are normalised
    tape.reset();
    const TapeScope tape_scope(tape);
    const Var total = sum((*network)(images).map * Var(shares));
    if (backward) tape.backward(total);
    return total.value().data<double>()[0];
  };
  loss(true);
  for (const Parameter& p : parameters.list()) {
    if (p.name().find("running") != std::string::npos) continue;
    for (int draw = 0; draw < 2; ++draw) {
      const auto i = static_cast<int64_t>(random.below(static_cast<uint64_t>(p.shape().count())));
      double* x = p.value().data<double>() + i;
      const double kept = *x, step = 1e-6;
      *x = kept + step;
      const double above = loss(false);
      *x = kept - step;
      const double below = loss(false);
      *x = kept;
      EXPECT_NEAR(p.grad().data<double>()[i], (above - below) / (2 * step), 1e-6) << p.name() << " " << i;
    }
  }
}

TEST(ResnetSmall, RunningAveragesAreParametersWithoutGradients) {
  Parameters parameters(Device::cpu());
  const auto network = make_image_network(parameters, small("resnet-small"));
  parameters.allocate(1);
  const Parameter& mean = parameters.find("vision.stem.norm.running_mean");
  EXPECT_FALSE(mean.var().needs_grad());
  const Tensor images = network->normalise(pictures(4, 33), Device::cpu());
  const std::vector<float> before = to_host<float>((*network)(images).map.value());
  EXPECT_EQ(to_host<float>(mean.value()), std::vector<float>(16, 0.0f));
  Tape tape(Device::cpu());
  tape.reset();
  {
    const TapeScope tape_scope(tape);
    (*network)(images);
  }
  EXPECT_NE(to_host<float>(mean.value()), std::vector<float>(16, 0.0f));
  EXPECT_NE(to_host<float>((*network)(images).map.value()), before);
}

// ---- the encoder ----

TEST(ImageEncoder, ReadsPicturesOrTheMapsOfAFrozenNetwork) {
  for (const std::string positions : {"none", "learned", "sinusoidal"}) {
    for (const int64_t depth : {0, 10}) {
      VisionConfig config = small("resnet-small", 32);
      config.positions = positions;
      config.depth = depth;
      Parameters frozen_parameters(Device::cpu()), parameters(Device::cpu());
      const ImageEncoder frozen(frozen_parameters, config);
      config.frozen = false;
      const ImageEncoder trained(parameters, config);
      frozen_parameters.allocate(1);
      parameters.allocate(1);
      for (const Parameter& p : frozen_parameters.list()) {
        EXPECT_FALSE(p.name().starts_with(kVisionPrefix)) << p.name();
        copy(p.value(), parameters.find(p.name()).value());
      }
      parameters.values().contents_changed();
      const Tensor images = trained.network()->normalise(pictures(2, 32), Device::cpu());
      const Tensor map = (*trained.network())(images).map.value();
      const Encoded a = frozen({.images = map}, {}, {}), b = trained({.images = images}, {}, {});
      EXPECT_EQ(a.states.shape(), (Shape{16, 2, depth > 0 ? depth : 64}));
      EXPECT_EQ(to_host<float>(a.states.value()), to_host<float>(b.states.value()));
      EXPECT_EQ(frozen.depth(), a.states.dim(2));
      if (depth > 0 || positions != "none") continue;
      const std::vector<float> states = to_host<float>(a.states.value()), cells = to_host<float>(map);
      for (size_t cell = 0; cell < 16; ++cell)
        for (size_t c = 0; c < 64; ++c) EXPECT_EQ(states[(cell * 2 + 1) * 64 + c], cells[(16 + cell) * 64 + c]);
    }
  }
}

TEST(ImageEncoder, PositionsTellCellsApart) {
  for (const std::string positions : {"learned", "sinusoidal"}) {
    VisionConfig config = small("resnet-small", 32);
    config.positions = positions;
    Parameters parameters(Device::cpu());
    const ImageEncoder encoder(parameters, config);
    parameters.allocate(1);
    const Encoded encoded =
        encoder({.images = zeros(encoder.map_shape().prepended(1), DType::kF32, Device::cpu())}, {}, {});
    std::vector<std::vector<float>> rows;
    for (int64_t cell = 0; cell < 16; ++cell) rows.push_back(to_host<float>(encoded.states.value()[cell]));
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(std::unique(rows.begin(), rows.end()), rows.end()) << positions;
  }
}

TEST(ImageEncoder, ANonLocalBlockOfAFrozenNetworkIsTrained) {
  VisionConfig config = small("mobilenet-edgetpu", 64);
  config.depth = 8;
  config.nonlocal = "gaussian";
  Parameters parameters(Device::cpu());
  const ImageEncoder encoder(parameters, config);
  parameters.allocate(1);
  EXPECT_EQ(encoder.attentions().size(), 1u);
  const Tensor map = zeros(encoder.map_shape().prepended(3), DType::kF32, Device::cpu());
  const Encoded encoded = encoder({.images = map}, Capture(true), {});
  ASSERT_EQ(encoded.attentions.size(), 1u);
  EXPECT_EQ(encoded.attentions[0].weights.shape(), (Shape{3, 1, 4, 4}));
  const FeatureExtractor extractor(config, Device::cpu(), 1);
  for (const Parameter& p : extractor.parameters().list()) {
    EXPECT_EQ(p.name().find("nonlocal"), std::string::npos);
  }
  EXPECT_ERROR(encoder({.images = zeros({1, 3, 2, 1280}, DType::kF32, Device::cpu())}, {}, {}),
               "image encoder: expected feature maps [B,2,2,1280], got [1,3,2,1280]");
}

}  // namespace
}  // namespace fovea
