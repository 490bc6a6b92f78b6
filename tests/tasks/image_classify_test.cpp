// The task "classify-images" from files to prediction, with pictures that the test draws: a dark or a light square.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "base/files.h"
#include "base/random.h"
#include "base/threads.h"
#include "store/vision_weights.h"
#include "support.h"
#include "tasks/image_classifier.h"
#include "tasks/image_classify_data.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kLeft = 20, kTop = 4, kSquare = 8;  // of the square, in pixels
const std::vector<std::string> kLabels = {"dark", "light"};

// The square on a grey ground.
Image drawn(int what, uint64_t seed) {
  Random random(seed);
  Image image{kSide, kSide, std::vector<uint8_t>(kSide * kSide * 3)};
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(110 + random.below(30));
  for (int64_t y = kTop; y < kTop + kSquare; ++y) {
    for (int64_t x = kLeft; x < kLeft + kSquare; ++x) {
      for (int64_t c = 0; c < 3; ++c) image.pixels[static_cast<size_t>((y * kSide + x) * 3 + c)] = what == 0 ? 0 : 255;
    }
  }
  return image;
}

class ImageClassifyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_thread_count(1);
    for (const std::string& label : kLabels) std::filesystem::create_directories(folder.file("train/" + label));
    for (int i = 0; i < 80; ++i) {
      folder.file("train/" + kLabels[static_cast<size_t>(i % 2)] + "/" + std::to_string(i) + ".png",
                  encode_png(drawn(i % 2, static_cast<uint64_t>(i))));
    }
    recipe.folder = folder.file("run");
    recipe.task = "classify-images";
    recipe.data.train = {folder.file("train")};
    recipe.vision.network = "resnet-small";
    recipe.vision.size = kSide;
    recipe.vision.layer = "stages.1";
    recipe.vision.frozen = false;
    recipe.batch.sentences = 12;
    recipe.training.learning_rate = 5e-3;
    recipe.training.steps = 120;
    recipe.validation.metric = "accuracy";
    recipe.validation.every = 20;
    recipe.validation.goal = 100;
    recipe.device = "cpu";
  }
  void TearDown() override { set_thread_count(threads); }
  std::string why(const Recipe& of) {
    Silent listener;
    return train(of, Start::kOverwrite, &listener).why;
  }

  TemporaryFolder folder;
  Recipe recipe;
  int threads = thread_count();  // before the test
};

TEST_F(ImageClassifyTest, ATrainedNetworkClassifiesPicturesItHasNotSeen) {
  Silent listener;
  ASSERT_EQ(train(recipe, Start::kNew, &listener).why, "accuracy reached 100");
  EXPECT_NE(listener.messages.find("8 pictures of data.train held out"), std::string::npos) << listener.messages;
  EXPECT_EQ(task_of_model(recipe.folder), "classify-images");
  const ImageClassifier classifier(recipe.folder, {.device = "cpu", .precision = "f32"});
  EXPECT_EQ(classifier.labels(), kLabels);
  std::vector<Image> images;
  for (int i = 0; i < 40; ++i) images.push_back(drawn(i % 2, 500 + static_cast<uint64_t>(i)));  // more than one batch
  const std::vector<Classification> results = classifier.classify(images, {.capture_weights = true});
  const std::vector<Classification> alone = classifier.classify({&images[37], 1});
  EXPECT_NEAR(alone[0].classes[0].probability, results[37].classes[0].probability, 1e-5);
  for (size_t i = 0; i < images.size(); ++i) {
    ASSERT_EQ(results[i].classes.size(), 2u);
    EXPECT_EQ(results[i].classes[0].label, kLabels[i % 2]);
    EXPECT_NEAR(results[i].classes[0].probability + results[i].classes[1].probability, 1, 1e-5);
    const AttentionRecord& record = *results[i].record;
    EXPECT_EQ(record.task, "classify-images");
    ASSERT_EQ(record.attentions.size(), 1u);
    const RecordedAttention& pooling = record.attentions[0];
    EXPECT_EQ(pooling.kind, "pooling");
    ASSERT_EQ(pooling.columns, 64);  // 8 x 8 cells of 4 x 4 pixels
    EXPECT_NEAR(std::accumulate(pooling.weights.begin(), pooling.weights.end(), 0.0), 1, 1e-5);
    EXPECT_NEAR(record.log_probability, std::log(record.classes[0].probability), 1e-6);
  }
  const std::string file = folder.file("new.png", encode_png(images[1]));
  EXPECT_EQ(load_predictor(recipe.folder)->predict({&file, 1}), std::vector{kLabels[1]});
  EXPECT_ERROR(Classifier(recipe.folder, {}), "expected a model of the task classify, got one of the task classify-im");
  const std::string packed = folder.file("packed");
  save_packed(packed, load_classifier(recipe.folder, Device::cpu()));
  EXPECT_EQ(ImageClassifier(packed, {.device = "cpu"}).predict({&file, 1}), std::vector{kLabels[1]});
}

TEST_F(ImageClassifyTest, AFileOfLabelsDoesAsAFolderDoes) {
  std::string plain, named = "image\tlabel\n";
  for (int i = 0; i < 80; ++i) {
    const std::string& label = kLabels[static_cast<size_t>(i % 2)];
    plain += label + "\t" + label + "/" + std::to_string(i) + ".png\n";
    named += label + "/" + std::to_string(i) + ".png\t" + label + "\n";
  }
  recipe.data.images = folder.file("train");
  recipe.data.train = {folder.file("plain.tsv", plain)};
  recipe.data.valid = {folder.file("named.tsv", named)};
  EXPECT_EQ(why(recipe), "accuracy reached 100");
  EXPECT_EQ(read_labelled_images(recipe.data.train[0], recipe.data.images, {}).labels,
            read_labelled_images(recipe.data.valid[0], recipe.data.images, {}).labels);
}

// The network's features are random, but they are enough here; they are computed once.
TEST_F(ImageClassifyTest, AFrozenNetworkStaysAsItIsAndTravelsWithTheModel) {
  VisionConfig network = recipe.vision;
  FeatureExtractor random(network, Device::cpu(), 3);
  recipe.vision.weights = folder.file("network.safetensors");
  save_network_weights(recipe.vision.weights, random.parameters(), false);
  recipe.vision.frozen = true;
  recipe.vision.augment.flip = true;  // has no effect
  recipe.training.steps = 400;
  ASSERT_EQ(why(recipe), "accuracy reached 100");
  EXPECT_TRUE(std::filesystem::exists(recipe.folder + "/features"));
  std::filesystem::remove(recipe.vision.weights);
  const std::string file = folder.file("new.png", encode_png(drawn(0, 900)));
  EXPECT_EQ(load_predictor(recipe.folder)->predict({&file, 1}), std::vector{kLabels[0]});
  const LoadedClassifier loaded = load_classifier(recipe.folder, Device::cpu());
  EXPECT_EQ(to_host<float>(loaded.extractor->parameters().list().front().get().value()),
            to_host<float>(random.parameters().list().front().get().value()));
}

std::string weights_of(const std::string& folder) { return read_file(folder + "/model.safetensors"); }

TEST_F(ImageClassifyTest, AugmentedRunsDifferAndResumeBitIdentically) {
  recipe.training.steps = 8;
  recipe.validation.every = 4;
  recipe.validation.goal = 0;
  train(recipe, Start::kNew);
  const std::string plain = weights_of(recipe.folder);
  for (const std::string key : {"crop", "flip", "colour"}) {
    Recipe one = recipe;
    one.folder = folder.file(key);
    if (key == "crop") one.vision.augment.crop = 0.5;
    if (key == "flip") one.vision.augment.flip = true;
    if (key == "colour") one.vision.augment.colour = 0.3;
    train(one, Start::kNew);
    EXPECT_NE(weights_of(one.folder), plain) << key;
  }
  recipe.vision.augment = {.crop = 0.5, .flip = true, .colour = 0.3};
  train(recipe, Start::kOverwrite);
  Recipe stopped = recipe;
  stopped.folder = folder.file("stopped");
  Silent first;
  first.stop_after = 7;  // in the second epoch
  EXPECT_TRUE(train(stopped, Start::kNew, &first).interrupted);
  train(stopped, Start::kResume);
  EXPECT_EQ(weights_of(recipe.folder), weights_of(stopped.folder));
}

TEST_F(ImageClassifyTest, BadDataAreNamed) {
  const auto refused = [&](const std::string& says) { EXPECT_ERROR(train(recipe, Start::kOverwrite), says); };
  std::filesystem::create_directories(folder.file("none"));
  recipe.data.train = {folder.file("none")};
  refused("none: expected a folder of pictures for each label, got none");
  recipe.data.train = {folder.file("absent")};
  refused("data.train: " + folder.file("absent") + ": no such file");
  recipe.data.train = {folder.file("a.tsv", "dark\tdark/0.png\nlight\tlight/1000.png\n")};
  recipe.data.images = folder.file("train");
  refused("a.tsv:2: " + folder.file("train") + "/light/1000.png: expected a picture, found no such file");
  recipe.data.train = {folder.file("b.tsv", "dark\tdark/0.png\nlight\t\n")};
  refused("b.tsv:2: expected the name of a picture, got none");
  recipe.data.train = {folder.file("train")};
  folder.file("train/dark/broken.png", "\x89PNG\r\n\x1a\nrubbish");
  refused("train/dark/broken.png");
  std::filesystem::remove(folder.file("train/dark/broken.png"));
  std::filesystem::create_directories(folder.file("train/dark/inner"));
  refused("train/dark/inner: expected a picture in the folder of a label, got a folder");
}

// Two squares at opposite sides, 20 pixels apart, where the network's receptive field is 19 pixels wide: are both dark
// or both light?
Image two_squares(int what, uint64_t seed) {
  Random random(seed);
  Image image{kSide, kSide, std::vector<uint8_t>(kSide * kSide * 3)};
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(120 + random.below(16));
  const bool light = random.below(2) == 0;
  for (int64_t n = 0; n < 2; ++n) {
    const auto top = static_cast<int64_t>(random.below(kSide - 6)), left = n * (kSide - 6);
    const uint8_t value = light != (what == 1 && n == 1) ? 255 : 0;
    for (int64_t i = 0; i < 6 * 6 * 3; ++i) {
      image.pixels[static_cast<size_t>(((top + i / 18) * kSide + left) * 3 + i % 18)] = value;
    }
  }
  return image;
}

TEST_F(ImageClassifyTest, OnlyANonLocalBlockComparesWhatIsFarApart) {
  for (const std::string part : {"far", "far-valid"}) {
    for (int i = 0; i < (part == "far" ? 640 : 200); ++i) {
      const std::string label = i % 2 == 0 ? "same" : "different";
      std::filesystem::create_directories(folder.file(part + "/" + label));
      folder.file(part + "/" + label + "/" + std::to_string(i) + ".png",
                  encode_png(two_squares(i % 2, static_cast<uint64_t>(i) + (part == "far" ? 0 : 10'000))));
    }
  }
  recipe.data.train = {folder.file("far")};
  recipe.data.valid = {folder.file("far-valid")};
  recipe.vision.layer = "stages.0";
  recipe.classify.pooling = {"mean"};
  recipe.classify.head_dropout = 0;
  recipe.batch.sentences = 16;
  recipe.training.learning_rate = 3e-3;
  recipe.training.steps = 400;
  recipe.validation.every = 25;
  recipe.validation.goal = 98;
  recipe.vision.nonlocal = "embedded-gaussian";
  Silent with, without;
  const TrainingResult learned = train(recipe, Start::kNew, &with);
  EXPECT_GE(*with.validation.score, 98);
  recipe.vision.nonlocal = "none";
  recipe.training.steps = learned.steps;
  train(recipe, Start::kOverwrite, &without);
  EXPECT_LE(*without.validation.score, 70);
}

TEST_F(ImageClassifyTest, TheRecordHasTheAttentionOfANonLocalBlock) {
  recipe.vision.nonlocal = "dot";
  recipe.classify.pooling = {"mean"};
  recipe.training.steps = 3;
  recipe.validation.goal = 0;
  train(recipe, Start::kNew);
  const ImageClassifier classifier(recipe.folder, {.device = "cpu"});
  const Image image = drawn(0, 77);
  const AttentionRecord record = *classifier.classify({&image, 1}, {.capture_weights = true})[0].record;
  ASSERT_EQ(record.attentions.size(), 1u);
  const RecordedAttention& a = record.attentions[0];
  EXPECT_EQ(a.kind, "encoder-self");
  EXPECT_EQ(a.mechanism, "non-local block, dot");
  ASSERT_EQ(a.rows, 64);
  ASSERT_EQ(a.columns, 64);
  for (int64_t row = 0; row < a.rows; ++row) {
    EXPECT_NEAR(std::accumulate(a.row(0, 0, row), a.row(0, 0, row) + 64, 0.0), 1, 1e-4) << row;
  }
}

}  // namespace
}  // namespace fovea
