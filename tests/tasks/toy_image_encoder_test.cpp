// An image encoder in one small file. Every decoder takes it as it is, and the trainer trains the two to describe
// pictures of a coloured square.
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "decode/search.h"
#include "models/model.h"
#include "temporary_folder.h"
#include "text/vocabulary.h"
#include "train/small_run.h"

namespace fovea {
namespace {

// A 3x3 convolution; each of its positions is a state.
class ToyImageEncoder final : public Encoder {
 public:
  ToyImageEncoder(Parameters& parameters, int64_t depth)
      : depth_(depth),
        conv_(parameters, "encoder.conv", 3, depth, {.height = 3, .width = 3, .stride_y = 2, .stride_x = 2}),
        place_(&parameters.add("encoder.place", {kStates, depth}, Initialiser::normal(0.3))) {}
  Encoded operator()(const Source& source, Capture, std::span<const WeightEdit>) const override {
    const Var features = relu(conv_(source.images));                        // [B,3,3,D]
    const Var rows = features.reshape({features.dim(0), kStates, depth_});  // [B,S,D]
    const Var placed = rows + place_->var().reshape({1, kStates, depth_});
    return {.states = permute(placed, {1, 0, 2})};
  }
  int64_t depth() const override { return depth_; }
  static constexpr int64_t kSide = 7, kStates = 9;  // (7 - 3) / 2 + 1 = 3 positions in each direction

 private:
  int64_t depth_;
  Conv2d conv_;
  const Parameter* place_;
};

const std::vector<std::string> kColours = {"red", "green", "blue"}, kRows = {"top", "bottom"},
                               kColumns = {"left", "right"};

class ToyCaptionTask final : public Task {
 public:
  explicit ToyCaptionTask(const TaskSetup& setup) : device_(setup.device) {
    std::vector<std::string> captions;
    for (uint64_t what = 0; what < kPictures; ++what) captions.push_back(caption(what));
    vocabulary_ = train_vocabulary(captions, {.kind = "word"}).vocabulary;
    model_ = make_model(setup.parameters, setup.recipe.model, std::make_unique<ToyImageEncoder>(setup.parameters, 16),
                        vocabulary_->size());
  }

  std::string description() const override { return "toy captions"; }
  void save_description(const std::string& folder) const override { std::filesystem::create_directories(folder); }
  Progress progress() const override { return {0, next_, next_ + 1}; }
  void next_batch() override { ++next_; }
  Part load_part(int64_t) override {
    batch_ = draw(static_cast<uint64_t>(next_));
    return {.sizes = {kBatch}, .units = kBatch * kLength};
  }
  TaskLoss loss() override {
    const Var logits = model_->teacher_force(batch_.source, batch_.before).logits;
    const Var total = sum(cross_entropy(logits, batch_.after));
    return {.total = affine(total, 1.0f / (kBatch * kLength)), .sum = total};
  }
  std::map<std::string, double> state() const override { return {{"next_batch", static_cast<double>(next_)}}; }
  void set_state(const std::map<std::string, double>& state) override {
    next_ = static_cast<int64_t>(state.at("next_batch"));
  }
  std::string metric() const override { return "exact"; }
  bool higher_is_better() const override { return true; }
  // Beam search over pictures that were never trained on.
  Validation validate(int64_t, const ValidationProgress&) override {
    const Pictures unseen = draw(uint64_t{1} << 40);
    const std::vector<int32_t> expected = to_host<int32_t>(unseen.after);
    std::vector<int32_t> numbers(kBatch);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::vector<std::span<const int32_t>> sources;
    for (const int32_t& number : numbers) sources.emplace_back(&number, 1);
    const Drawn drawn(unseen.source.images);
    const EncoderDecoder* model = model_.get();
    const auto found = search({&model, 1}, CorpusView(sources), {.tokens = 8, .end_source = false},
                              {.beam = 2, .max_length = 8, .images = &drawn}, device_);
    double correct = 0;
    for (size_t b = 0; b < kBatch; ++b) {
      std::vector<int32_t> ids = found[b].front().ids;
      ids.push_back(kEnd);
      bool right = ids.size() == kLength;
      for (size_t t = 0; right && t < kLength; ++t) right = ids[t] == expected[t * kBatch + b];
      correct += right ? 1 : 0;
    }
    return {.loss = 0, .score = 100 * correct / kBatch};
  }
  const EncoderDecoder& model() const { return *model_; }

 private:
  static constexpr int64_t kBatch = 24, kLength = 4;  // three words and the end mark
  static constexpr uint64_t kPictures = 12;
  struct Pictures {
    Source source;
    Tensor before, after;  // i32 [T,B]
  };

  class Drawn final : public ImageSource {
   public:
    explicit Drawn(const Tensor& all) : all_(all) {}
    Tensor images(std::span<const int32_t> numbers, Device device) const override {
      const std::vector<float> pixels = to_host<float>(all_);
      const auto size = static_cast<int64_t>(pixels.size()) / kBatch;
      std::vector<float> chosen;
      for (const int32_t n : numbers) chosen.insert(chosen.end(), &pixels[n * size], &pixels[n * size] + size);
      return from_host(chosen, all_.shape().with(0, std::ssize(numbers)), device);
    }
    int64_t states() const override { return ToyImageEncoder::kStates; }

   private:
    Tensor all_;
  };

  static std::string caption(uint64_t what) {
    return kRows[what / 6] + " " + kColumns[what / 3 % 2] + " " + kColours[what % 3];
  }
  // A square of 3x3 in a corner, over noise.
  Pictures draw(uint64_t seed) const {
    constexpr int64_t kSide = ToyImageEncoder::kSide;
    Random random(seed);
    std::vector<float> pixels(kBatch * kSide * kSide * 3);
    std::vector<int32_t> before(kLength * kBatch, kBegin), after(kLength * kBatch, kEnd);
    for (int64_t b = 0; b < kBatch; ++b) {
      const uint64_t what = random.below(kPictures);
      float* picture = &pixels[static_cast<size_t>(b * kSide * kSide * 3)];
      for (int64_t i = 0; i < kSide * kSide * 3; ++i) picture[i] = static_cast<float>(random.uniform(0, 0.3));
      const auto top = static_cast<int64_t>(what / 6 * 4), left = static_cast<int64_t>(what / 3 % 2 * 4);
      for (int64_t y = top; y < top + 3; ++y) {
        for (int64_t x = left; x < left + 3; ++x) picture[(y * kSide + x) * 3 + static_cast<int64_t>(what % 3)] = 1.0f;
      }
      const std::vector<int32_t> ids = vocabulary_->encode(caption(what));
      for (int64_t t = 0; t < std::ssize(ids); ++t) {
        after[static_cast<size_t>(t * kBatch + b)] = ids[static_cast<size_t>(t)];
        before[static_cast<size_t>((t + 1) * kBatch + b)] = ids[static_cast<size_t>(t)];
      }
    }
    return {{.images = from_host(pixels, {kBatch, kSide, kSide, 3}, device_)},
            from_host(before, {kLength, kBatch}, device_),
            from_host(after, {kLength, kBatch}, device_)};
  }

  Device device_;
  std::unique_ptr<Vocabulary> vocabulary_;
  std::unique_ptr<EncoderDecoder> model_;
  Pictures batch_;
  int64_t next_ = 0;
};

class ToyImageEncoderTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Architectures, ToyImageEncoderTest, ::testing::ValuesIn(names_of(architectures())),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(ToyImageEncoderTest, IsTrainedWithTheDecoder) {
  const TaskEntry toy = {
      "toy-caption", "Describes pictures.", "toy-caption",
      [](const TaskSetup& setup) -> std::unique_ptr<Task> { return std::make_unique<ToyCaptionTask>(setup); }, nullptr};
  const TemporaryFolder folder;
  Recipe recipe{.folder = folder.file("run"), .task = "toy-caption"};
  recipe.model.architecture = GetParam();
  recipe.model.embedding = recipe.model.hidden = recipe.model.feed_forward = 32;
  recipe.training.learning_rate = 0.01;
  recipe.training.steps = 600;
  recipe.validation.every = 50;
  recipe.validation.goal = 100;
  Silent listener;
  EXPECT_EQ(Trainer(recipe, toy, Start::kNew, listener).run(listener.interrupt).why, "exact reached 100");
}

}  // namespace
}  // namespace fovea
