// Captions of pictures that the test draws: a coloured square in one of four corners.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "base/random.h"
#include "evaluate/pointing.h"
#include "store/caption_folder.h"
#include "store/vision_weights.h"
#include "support.h"
#include "tasks/caption_boxes.h"
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

  // A frozen network with random weights; its features are computed once, which makes training quick.
  void freeze(Parameters& parameters) {
    const std::unique_ptr<ImageNetwork> network = make_image_network(parameters, recipe.vision);
    parameters.allocate(7);
    recipe.vision.weights = folder.file("network.safetensors");
    save_network_weights(recipe.vision.weights, parameters, false);
    recipe.vision.frozen = true;
    recipe.training.steps = 30;
    recipe.validation.metric = "loss";
    recipe.validation.goal = 0;
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

// Of each row of a record over a picture.
std::vector<double> row_sums(const RecordedAttention& a) {
  std::vector<double> sums;
  for (int64_t t = 0; t < a.rows; ++t) {
    sums.push_back(std::accumulate(a.row(0, 0, t), a.row(0, 0, t) + a.columns, 0.0));
  }
  return sums;
}

// Lu et al. 2017: a word may look at no place. Search, forced captions, records, moved attention and the packed model
// have the same sentinel.
TEST_F(CaptionTest, ASentinelIsAPlaceBesideThePicture) {
  Parameters network(Device::cpu());
  freeze(network);
  recipe.model.context_gate = false;
  recipe.model.cell = "lstm";
  recipe.model.hidden = 24;  // the sentinel is projected to the size of the features
  recipe.model.attention.sentinel = true;
  const Image image = drawn(6, 1006);
  const int32_t number = 0;
  for (const char* architecture : {"bahdanau", "luong"}) {
    SCOPED_TRACE(architecture);
    recipe.folder = folder.file(architecture);
    recipe.model.architecture = architecture;
    Silent listener;
    Trainer(recipe, Start::kNew, listener).run(listener.interrupt);
    const Captioner captioner(recipe.folder, {.device = "cpu", .precision = "f32"});
    const Pictures pictures(captioner.model(), {&image, 1});
    const auto search = [&](const Captioner& by, const SearchOptions& options) {
      return by.caption({&image, 1}, options).front().candidates;
    };
    SearchOptions options{.beam = 3, .nbest = 3, .min_length = 3, .max_length = 8, .capture_weights = true};
    int64_t compared = 0;
    for (const int64_t beam : {1, 3}) {
      options.beam = options.nbest = beam;
      for (const auto& [text, found] : search(captioner, options)) {
        if (!found.finished) continue;
        ++compared;
        const Hypothesis forced = captioner.score(pictures, {&number, 1}, {&text, 1}, {.capture_weights = true})[0];
        EXPECT_NEAR(forced.log_probability, found.log_probability, 1e-4);
        const AttentionRecord record = captioner.record(image, "picture.png", found),
                              again = captioner.record(image, "picture.png", forced);
        const RecordedAttention& a = record.attentions.at(0);
        EXPECT_TRUE(a.sentinel);
        EXPECT_EQ(a.mechanism, "additive, global, soft, sentinel");
        ASSERT_EQ(a.columns, record.image->cells() + 1);
        for (const double sum : row_sums(a)) EXPECT_NEAR(sum, 1, 1e-5);
        ASSERT_EQ(a.weights.size(), again.attentions[0].weights.size());
        for (size_t i = 0; i < a.weights.size(); ++i) EXPECT_NEAR(a.weights[i], again.attentions[0].weights[i], 1e-5);
        // The pointing game sees the cells alone.
        const TokenAttention attention = captioner.token_attention(text, forced);
        const auto tokens = std::ssize(found.ids);
        ASSERT_EQ(std::ssize(attention.weights), tokens * record.image->cells());
        for (int64_t t = 0; t < tokens; ++t) {
          const float* row = attention.weights.data() + t * record.image->cells();
          const float nowhere = a.row(0, 0, t)[a.columns - 1];
          EXPECT_GT(nowhere, 0);
          EXPECT_NEAR(std::accumulate(row, row + record.image->cells(), 0.0), 1 - nowhere, 1e-5);
        }
      }
    }
    EXPECT_GE(compared, 3);
    // Attention that is moved to a cell leaves nothing for the sentinel; the last weight moves it to the sentinel.
    const Caption::Candidate plain = search(captioner, options).front();
    const auto cells = static_cast<size_t>(captioner.record(image, "", plain.hypothesis).image->cells());
    std::vector<float> cell(cells), nowhere(cells + 1);
    cell[2] = nowhere.back() = 1;
    SearchOptions moved{.min_length = 3, .max_length = 8, .capture_weights = true};
    moved.edits = {{.edit = {.row = 1, .weights = cell}}, {.edit = {.row = 2, .weights = nowhere}}};
    const AttentionRecord steered = captioner.record(image, "", search(captioner, moved).front().hypothesis);
    const RecordedAttention& a = steered.attentions.at(0);
    EXPECT_EQ(a.row(0, 0, 1)[2], 1);
    EXPECT_EQ(a.row(0, 0, 1)[cells], 0);
    EXPECT_EQ(a.row(0, 0, 2)[cells], 1);
    EXPECT_EQ(a.row(0, 0, 2)[2], 0);

    save_packed(folder.file("packed"), captioner.model());
    const Captioner packed(folder.file("packed"), {.device = "cpu", .precision = "f32"});
    EXPECT_TRUE(packed.model().loaded.config.model.attention.sentinel);
    const Hypothesis one = captioner.score(pictures, {&number, 1}, {&plain.text, 1})[0],
                     other = packed.score(pictures, {&number, 1}, {&plain.text, 1})[0];
    EXPECT_NEAR(one.log_probability, other.log_probability, 0.2);
  }
}

// All captions here mention a side, so no picture may be flipped: left and right could not be learned otherwise.
TEST_F(CaptionTest, PicturesWhoseCaptionsMentionASideAreNotFlipped) {
  recipe.vision.augment.flip = true;
  recipe.vision.augment.colour = 0.1;
  Silent listener;
  EXPECT_EQ(Trainer(recipe, Start::kNew, listener).run(listener.interrupt).why, "exact reached 100");
}

TEST_F(CaptionTest, AFrozenNetworkStaysAsItIsAndTravelsWithTheModel) {
  Parameters parameters(Device::cpu());
  freeze(parameters);
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

TEST(CaptionBoxesTest, BoxesCoverCells) {
  const std::vector<Box> boxes = {{0.25, 0, 0.75, 0.5}, {0.5, 0, 0.625, 0.5}};
  EXPECT_EQ(covered_cells(boxes, 2, 2), (std::vector<float>{0.5f, 0.5f, 0, 0}));
  EXPECT_EQ(covered_cells({{0, 0, 1, 1}}, 1, 3), (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(covered_cells({}, 1, 2), (std::vector<float>{0, 0}));
}

TEST(CaptionBoxesTest, BoxesFollowTheCropAndTheFlip) {
  const Augmentation crop{.left = 50, .top = 0, .width = 50, .height = 100};
  const std::vector<Box> boxes = {{0.6, 0.1, 0.7, 0.2}, {0.1, 0, 0.4, 1}};
  const std::vector<Box> cropped = changed_boxes(boxes, crop, 100, 100);
  ASSERT_EQ(cropped.size(), 1U);  // the other one is outside
  EXPECT_NEAR(cropped[0].x0, 0.2, 1e-9);
  EXPECT_NEAR(cropped[0].x1, 0.4, 1e-9);
  Augmentation mirrored = crop;
  mirrored.flip = true;
  const Box flipped = changed_boxes(boxes, mirrored, 100, 100).at(0);
  EXPECT_NEAR(flipped.x0, 0.6, 1e-9);
  EXPECT_NEAR(flipped.x1, 0.8, 1e-9);
  EXPECT_NEAR(flipped.y1, 0.2, 1e-9);
}

// Trains on boxes of the squares, with crops, and plays the pointing game on new pictures: every word must look at the
// square.
TEST_F(CaptionTest, BoxesGuideAttention) {
  const auto box = [](int what) {  // its quarter of the picture
    const double left = what % 2 == 0 ? 0 : 0.5, top = what / 2 % 2 == 0 ? 0 : 0.5;
    return Box{left, top, left + 0.5, top + 0.5};
  };
  std::string boxes;
  for (int i = 0; i < 216; ++i) {
    const Box b = box(i % 12);
    boxes += fmt::format(
        R"({{"image":"{}.png","sentences":[{{"text":"{}","phrases":[{{"words":[0,3],"type":"people","boxes":[[{},{},{},{}]]}}]}}]}})",
        i, caption_of(i % 12), b.x0, b.y0, b.x1, b.y1);
    boxes += "\n";
  }
  recipe.data.alignment = folder.file("boxes.jsonl", boxes);
  recipe.training.guided_alignment = 1;
  recipe.training.doubly_stochastic = 0;
  recipe.vision.augment.crop = 0.8;
  recipe.training.steps = recipe.validation.every = 150;
  Silent listener;
  Trainer(recipe, Start::kNew, listener).run(listener.interrupt);
  const Captioner captioner(recipe.folder, {.device = "cpu", .precision = "f32"});
  double hits = 0;
  for (int what = 0; what < 12; ++what) {
    const std::vector<Image> image = {drawn(what, 1000 + static_cast<uint64_t>(what))};
    const Pictures pictures(captioner.model(), image);
    const int32_t number = 0;
    const std::string text = caption_of(what);
    const Hypothesis forced = captioner.score(pictures, {&number, 1}, {&text, 1}, {.capture_weights = true}).front();
    const BoxedPhrase phrase{.from = 0, .to = 3, .type = "people", .boxes = {box(what)}};
    hits += point_at(captioner.token_attention(text, forced), phrase).value();
  }
  EXPECT_GE(hits, 11);
  recipe.data.alignment = folder.file("other.jsonl", R"({"image":"a.png","sentences":[]})");
  EXPECT_ERROR(Trainer(recipe, Start::kOverwrite, listener),
               "other.jsonl: expected boxes of the captions in data.train");
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
