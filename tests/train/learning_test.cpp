// Every attention mechanism learns to write up to eight letters backwards, in every model that supports it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "attention/registry.h"
#include "base/random.h"
#include "small_models.h"
#include "temporary_folder.h"
#include "train/small_run.h"

namespace fovea {
namespace {

struct Lesson {
  std::string name, architecture;
  double exact;  // percentage of unseen sentences that must be translated exactly
  std::function<void(Recipe&)> change;
};

void PrintTo(const Lesson& lesson, std::ostream* out) { *out << lesson.name; }

std::vector<Lesson> lessons() {
  std::vector<Lesson> all;
  for (const std::string& architecture : attending_models()) {
    const auto add = [&](const std::string& name, double exact, const std::function<void(Recipe&)>& change) {
      std::string full = architecture + "_" + name;
      std::replace(full.begin(), full.end(), '-', '_');
      all.push_back({full, architecture, exact, change});
    };
    for (const ScoreEntry& score : scores()) {
      add(std::string(score.name), 99, [&score](Recipe& r) {
        r.model.attention.score = score.name;
        // Dot products of many terms saturate the softmax unless they are scaled (Vaswani et al. 2017, section 3.2.1).
        if (score.name == "dot") r.model.embedding = 32;
        // Scores without a weight matrix need queries and keys of the same depth.
        if (score.compares_directly && architecture_named(r.model.architecture).recurrent) {
          r.model.bidirectional = false;
          r.model.encoder_layers = 2;
        }
      });
    }
    add("local-p", 99, [](Recipe& r) {
      r.model.attention.scope = "local-p";
      r.model.attention.window = 4;
    });
    // A source that is read backwards is written in order, which is what a monotonic window expects.
    add("local-m", 99, [](Recipe& r) {
      r.model.attention.scope = "local-m";
      r.model.attention.window = 2;
      r.batch.reverse_source = true;
    });
    add("sparse", 99, [](Recipe& r) { r.model.attention.selection = "sparse"; });
    for (const char* estimator : {"reinforce", "straight-through"}) {
      add(std::string("hard-") + estimator, 95, [estimator](Recipe& r) {
        r.model.attention.selection = "hard";
        r.model.attention.estimator = estimator;
        // With more layers, states next to the right position carry the same information, and the reward does not
        // distinguish them.
        if (!architecture_named(r.model.architecture).recurrent) {
          r.model.attention.score = "scaled-dot";
          r.model.positions = "learned";
          r.model.encoder_layers = 1;
          r.training.learning_rate = 2e-3;
        }
      });
    }
    if (architecture_named(architecture).recurrent)
      add("coverage", 99, [](Recipe& r) { r.model.attention.coverage = true; });
  }
  return all;
}

std::string backwards(int64_t count, uint64_t seed) {
  std::string lines;
  for (int64_t i = 0; i < count; ++i) {
    Random random(seed, static_cast<uint64_t>(i));
    std::string letters(1 + random.below(8), ' ');
    for (char& letter : letters) letter = static_cast<char>('a' + random.below(12));
    for (const char letter : letters) lines += std::string(1, letter) + " ";
    lines.back() = '\t';
    std::reverse(letters.begin(), letters.end());
    for (const char letter : letters) lines += std::string(1, letter) + " ";
    lines.back() = '\n';
  }
  return lines;
}

class Learning : public ::testing::TestWithParam<Lesson> {};

TEST_P(Learning, Backwards) {
  const TemporaryFolder folder;
  Recipe r = small_recipe(folder.file("run"));
  r.data.generator = "";
  r.data.train = {folder.file("train.tsv", backwards(30'000, 1))};
  r.data.valid = {folder.file("valid.tsv", backwards(500, 2))};
  const bool transformer = !architecture_named(GetParam().architecture).recurrent;
  r.model.architecture = GetParam().architecture;
  r.threads = 1;
  r.model.attention.score = "additive";
  r.model.dropout = 0;
  r.model.embedding = transformer ? 64 : 32;
  r.model.hidden = 64;
  r.model.feed_forward = 128;
  r.model.encoder_layers = transformer ? 2 : 1;
  r.batch.tokens = transformer ? 1024 : 512;
  r.training.learning_rate = transformer ? 3e-3 : 6e-3;
  r.training.schedule = "inverse-sqrt";
  r.training.warmup = 80;
  r.training.label_smoothing = 0;
  r.training.steps = 8000;
  r.validation.every = 200;
  r.validation.metric = "exact";
  r.validation.sentences = 0;
  r.validation.goal = GetParam().exact;
  GetParam().change(r);
  EXPECT_GE(train(r, Start::kNew).best, GetParam().exact);
}

INSTANTIATE_TEST_SUITE_P(Mechanisms, Learning, ::testing::ValuesIn(lessons()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace fovea
