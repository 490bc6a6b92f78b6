// Captions of pictures that the test draws: a coloured square in one of four corners.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "base/random.h"
#include "store/vision_weights.h"
#include "support.h"
#include "tasks/captioner.h"
#include "tasks/pictures.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

constexpr int64_t kSide = 32;
const std::vector<std::string> kColours = {"red", "green", "blue"};

std::string caption_of(int what) {
  return std::string(what % 2 == 0 ? "left" : "right") + (what / 2 % 2 == 0 ? " top " : " bottom ") +
         kColours[static_cast<size_t>(what / 4)];
}

Image drawn(int what, uint64_t seed) {
  Random random(seed);
  Image image{kSide, kSide, std::vector<uint8_t>(kSide * kSide * 3)};
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(random.below(60));
  const int64_t left = what % 2 == 0 ? 2 : 18, top = what / 2 % 2 == 0 ? 2 : 18;
  for (int64_t y = top; y < top + 12; ++y) {
    for (int64_t x = left; x < left + 12; ++x) image.pixels[static_cast<size_t>((y * kSide + x) * 3 + what / 4)] = 255;
  }
  return image;
}

class CaptionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder.file("pictures"));
    std::string train, valid;
    for (int i = 0; i < 240; ++i) {
      const std::string name = std::to_string(i) + ".png";
      folder.file("pictures/" + name, encode_png(drawn(i % 12, static_cast<uint64_t>(i))));
      (i < 216 ? train : valid) += name + "\t" + caption_of(i % 12) + "\n";
    }
    recipe.folder = folder.file("run");
    recipe.task = "caption";
    recipe.data.train = {folder.file("train.tsv", train)};
    recipe.data.valid = {folder.file("valid.tsv", valid)};
    recipe.data.images = folder.file("pictures");
    recipe.target_vocabulary.kind = "word";
    recipe.vision.network = "resnet-small";
    recipe.vision.size = kSide;
    recipe.vision.frozen = false;
    recipe.vision.depth = 32;
    recipe.vision.positions = "learned";
    recipe.model.architecture = "bahdanau";
    recipe.model.embedding = recipe.model.hidden = 32;
    recipe.model.context_gate = true;
    recipe.model.dropout = 0;
    recipe.batch.sentences = 24;
    recipe.training.doubly_stochastic = 0.1;
    recipe.training.learning_rate = 5e-3;
    recipe.training.steps = 400;
    recipe.validation.metric = "exact";
    recipe.validation.every = 50;
    recipe.validation.goal = 100;
  }

  TemporaryFolder folder;
  Recipe recipe;
};

TEST_F(CaptionTest, ATrainedNetworkDescribesPicturesItHasNotSeen) {
  Silent listener;
  EXPECT_EQ(Trainer(recipe, Start::kNew, listener).run(listener.interrupt).why, "exact reached 100");
  const Captioner captioner(recipe.folder, {.device = "cpu", .precision = "f32"});
  std::vector<Image> images;
  for (int what = 0; what < 12; ++what) images.push_back(drawn(what, 1000 + static_cast<uint64_t>(what)));
  const SearchOptions search{.beam = 3, .max_length = 10, .capture_weights = true};
  const std::vector<Caption> together = captioner.caption(images, search);
  const Pictures pictures(captioner.model(), images);
  for (int32_t what = 0; what < 12; ++what) {
    const auto i = static_cast<size_t>(what);
    EXPECT_EQ(together[i].text(), caption_of(what));
    const Caption alone = captioner.caption({&images[i], 1}, search).front();
    EXPECT_EQ(alone.text(), together[i].text());
    const std::string text = together[i].text();
    const Hypothesis forced = captioner.score(pictures, {&what, 1}, {&text, 1}, {.capture_weights = true}).front();
    const Hypothesis& found = together[i].candidates.front().hypothesis;
    EXPECT_NEAR(forced.log_probability, found.log_probability, 1e-3);
    const TokenAttention attention = captioner.token_attention(text, forced);
    EXPECT_EQ(attention.words, (std::vector<int64_t>{0, 1, 2}));
    EXPECT_NEAR(std::accumulate(attention.weights.begin(), attention.weights.end(), 0.0), 3, 1e-4);
    const AttentionRecord record = captioner.record(images[i], "picture.png", found);
    ASSERT_TRUE(record.image.has_value());
    ASSERT_EQ(record.attentions.size(), 1U);
    EXPECT_EQ(record.attentions[0].columns, record.image->cells());
    EXPECT_EQ(record.attentions[0].rows, 4);
    EXPECT_EQ(record.target_text, text);
    EXPECT_EQ(decode_image(record.image->jpeg, "record").width, kSide);
  }
}

// All captions here mention a side, so no picture may be flipped: left and right could not be learned otherwise.
TEST_F(CaptionTest, PicturesWhoseCaptionsMentionASideAreNotFlipped) {
  recipe.vision.augment.flip = true;
  recipe.vision.augment.colour = 0.1;
  Silent listener;
  EXPECT_EQ(Trainer(recipe, Start::kNew, listener).run(listener.interrupt).why, "exact reached 100");
}

// The network's features are random, but they are enough here; they are computed once.
TEST_F(CaptionTest, AFrozenNetworkStaysAsItIsAndTravelsWithTheModel) {
  Parameters parameters(Device::cpu());
  const std::unique_ptr<ImageNetwork> network = make_image_network(parameters, recipe.vision);
  parameters.allocate(7);
  recipe.vision.weights = folder.file("network.safetensors");
  save_network_weights(recipe.vision.weights, parameters, false);
  recipe.vision.frozen = true;
  recipe.training.steps = 30;
  recipe.validation.metric = "loss";
  recipe.validation.goal = 0;
  Silent listener;
  Trainer(recipe, Start::kNew, listener).run(listener.interrupt);
  EXPECT_TRUE(std::filesystem::exists(recipe.folder + "/features"));
  const LoadedCaptioner loaded = load_captioner(recipe.folder, Device::cpu());
  ASSERT_TRUE(loaded.extractor != nullptr);
  EXPECT_EQ(loaded.loaded.config.vision.weights, "");
  const Tensor before = parameters.values(), after = loaded.extractor->parameters().values();
  EXPECT_EQ(to_host<float>(before), to_host<float>(after));
  save_packed(folder.file("packed"), loaded);
  const std::vector<Image> images = {drawn(0, 5)};
  EXPECT_FALSE(Captioner(folder.file("packed"), {.device = "cpu"}).caption(images, {.max_length = 5}).empty());
}

// Both stages see the same captions; the second one learns from CIDEr-D of its own samples alone.
TEST_F(CaptionTest, SelfCriticalTrainingRaisesTheMetricItLearnsFrom) {
  recipe.validation.metric = "cider-d";
  recipe.validation.goal = 0;
  recipe.validation.search.max_length = 8;
  recipe.training.steps = recipe.validation.every = 8;
  Silent listener;
  const double before = Trainer(recipe, Start::kNew, listener).run(listener.interrupt).best.value();
  recipe.training.pretrained = recipe.folder;
  recipe.folder = folder.file("critical");
  recipe.training.self_critical = true;
  recipe.training.learning_rate = 1e-3;
  recipe.training.steps = 80;
  recipe.validation.every = 20;
  const double after = Trainer(recipe, Start::kNew, listener).run(listener.interrupt).best.value();
  EXPECT_GT(after, before + 50);
}

TEST_F(CaptionTest, MistakesAreNamed) {
  Silent listener;
  const auto run = [&] { Trainer(recipe, Start::kOverwrite, listener).run(listener.interrupt); };
  Recipe good = recipe;
  recipe.data.train = {folder.file("missing.tsv", "nowhere.jpg\ta picture\n")};
  EXPECT_ERROR(run(), "nowhere.jpg: expected a picture, found no such file");
  recipe.data.train = {folder.file("names.tsv", "\ta picture\n")};
  EXPECT_ERROR(run(), "names.tsv: expected text");
  folder.file("pictures/0.png", "no picture");
  recipe.data.train = good.data.train;
  EXPECT_ERROR(run(), "0.png: expected a JPEG, PNG or WebP picture");
}

}  // namespace
}  // namespace fovea
