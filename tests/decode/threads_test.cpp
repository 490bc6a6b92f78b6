// Decoding on several threads: the same bits as on one, in every architecture and precision, and callbacks one at a
// time.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/threads.h"
#include "decode/test_models.h"
#include "decode/translator.h"
#include "ops/ops.h"

namespace fovea {
namespace {

constexpr int64_t kWords = 40;

// Sentences of many lengths, enough for several batches on each thread.
ParallelCorpus many_sources() {
  ParallelCorpus corpus;
  Random random(7);
  for (int i = 0; i < 40; ++i) {
    std::vector<int32_t> ids;
    for (uint64_t left = 1 + random.below(19); left > 0; --left) {
      ids.push_back(static_cast<int32_t>(4 + random.below(kWords - 4)));
    }
    corpus.source.append(ids);
  }
  return corpus;
}

void expect_same(const std::vector<std::vector<Hypothesis>>& a, const std::vector<std::vector<Hypothesis>>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size()) << "sentence " << i;
    for (size_t n = 0; n < a[i].size(); ++n) {
      EXPECT_EQ(a[i][n].ids, b[i][n].ids) << "sentence " << i;
      EXPECT_EQ(a[i][n].log_probs, b[i][n].log_probs) << "sentence " << i;
      EXPECT_EQ(a[i][n].score, b[i][n].score) << "sentence " << i;
    }
  }
}

class ThreadsTest : public ::testing::TestWithParam<Setup> {
 protected:
  void TearDown() override { set_thread_count(static_cast<int>(std::thread::hardware_concurrency())); }

  static ModelConfig config() {  // large enough for products to be in int8, and for some to be split among threads
    ModelConfig config = GetParam().config;
    config.embedding = config.hidden = config.attention.depth = 64;
    config.feed_forward = 128;
    return config;
  }
};

TEST_P(ThreadsTest, AnyNumberGivesTheSameBits) {
  const SmallModel small(config(), kWords, 5);
  const ParallelCorpus sources = many_sources();
  const std::vector<SearchOptions> searches = {
      {.max_length = 15},
      {.beam = 3, .nbest = 2, .max_length = 15},
      {.max_length = 15, .sample = true, .top_k = 5},
  };
  for (const Precision precision : {Precision::kF32, Precision::kBF16, Precision::kInt8}) {
    const PrecisionScope scope(precision);
    for (const SearchOptions& options : searches) {
      for (const int64_t together : {3, 40}) {  // several batches; one
        set_thread_count(1);
        const auto expected = find_with(small, sources, options, together);
        for (const int threads : {2, 3, 5}) {
          set_thread_count(threads);
          expect_same(find_with(small, sources, options, together), expected);
        }
      }
    }
  }
}

TEST_P(ThreadsTest, ScoresAreTheSameBits) {
  const SmallModel small(config(), kWords, 5);
  ParallelCorpus pairs = many_sources();
  set_thread_count(1);
  for (const auto& found : find_with(small, pairs, {.max_length = 15})) pairs.target.append(found.front().ids);
  const std::vector<Hypothesis> expected = score_with(small, pairs, true);
  set_thread_count(3);
  const std::vector<Hypothesis> got = score_with(small, pairs, true);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].log_probs, expected[i].log_probs);
    ASSERT_EQ(got[i].weights.size(), expected[i].weights.size());
    for (size_t w = 0; w < got[i].weights.size(); ++w) {
      EXPECT_EQ(got[i].weights[w].weights, expected[i].weights[w].weights);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ThreadsTest, ::testing::ValuesIn(setups()),
                         [](const auto& about) { return about.param.name; });

// Counts threads that are inside at the same time.
class AtOnce {
 public:
  void enter() {
    const int now = ++inside_;
    most_ = std::max(most_.load(), now);
    std::this_thread::yield();
    --inside_;
    const std::lock_guard lock(mutex_);
    threads_.insert(std::this_thread::get_id());
  }
  int most() const { return most_; }
  size_t threads() const { return threads_.size(); }

 private:
  std::atomic<int> inside_ = 0, most_ = 0;
  std::mutex mutex_;
  std::set<std::thread::id> threads_;
};

class CountingWatcher : public SearchWatcher {
 public:
  bool should_continue(int64_t) override {
    at_once.enter();
    return true;
  }
  AtOnce at_once;
};

TEST(DecodeThreads, WatchersAndProgressAreCalledByOneThreadAtATime) {
  const SmallModel small(small_config("transformer"), kWords, 5);
  const EncoderDecoder* const models[] = {small.model.get()};
  const ParallelCorpus sources = many_sources();
  set_thread_count(4);
  CountingWatcher watcher;
  AtOnce progress;
  std::vector<int64_t> counts;
  SearchOptions options{.max_length = 15};
  options.watcher = &watcher;
  search(models, sources, batches_of(2), options, Device::cpu(), [&](int64_t count) {
    progress.enter();
    counts.push_back(count);
  });
  EXPECT_EQ(watcher.at_once.most(), 1);
  EXPECT_GT(watcher.at_once.threads(), 1u);
  EXPECT_EQ(progress.most(), 1);
  ASSERT_EQ(counts.size(), 20u);
  for (size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i], 2 * static_cast<int64_t>(i + 1));
}

TEST(DecodeThreads, AnErrorEndsTheSearchAndReachesTheCaller) {
  const SmallModel small(small_config("transformer"), kWords, 5);
  const EncoderDecoder* const models[] = {small.model.get()};
  const ParallelCorpus sources = many_sources();
  set_thread_count(3);
  std::atomic<int> calls = 0;
  const auto stop = [&](int64_t) {
    ++calls;
    fail("stopped here");
  };
  EXPECT_THROW(search(models, sources, batches_of(1), {.max_length = 15}, Device::cpu(), stop), Error);
  EXPECT_LE(calls, 3);                                                      // each thread ended after its batch
  EXPECT_EQ(find_with(small, sources, {.max_length = 15}, 2).size(), 40u);  // and everything works afterwards
}

TEST(DecodeThreads, TranslationsArriveInTheOrderOfTheirLines) {
  const std::shared_ptr<const Vocabulary> vocabulary =
      train_vocabulary(std::vector<std::string>{"abcd"}, {.kind = "character"}).vocabulary;
  const ModelConfig config = small_config("luong");
  const SmallModel small(config, vocabulary->size(), 3);
  LoadedModel loaded;
  loaded.config.source_words = loaded.config.target_words = vocabulary->size();
  loaded.config.model = config;
  loaded.source = loaded.target = vocabulary;
  loaded.parameters = {std::shared_ptr<void>(), &small.parameters};
  loaded.model = {std::shared_ptr<void>(), small.model.get()};
  const Translator translator({loaded}, RuntimeOptions{.batches = {.tokens = 12}});
  std::vector<std::string> lines;
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    lines.emplace_back();  // some lines are empty, the first and the last, too
    const uint64_t length = i == 0 || i == 49 ? 0 : random.below(9);
    for (uint64_t n = 0; n < length; ++n) lines.back() += "abcd"[random.below(4)];
  }
  const SearchOptions search{.beam = 2, .max_length = 12};
  set_thread_count(1);
  const std::vector<Translation> expected = translator.translate(lines, search);
  set_thread_count(4);
  std::vector<std::string> texts;
  int64_t calls = 0, last = 0;
  translator.translate(
      translator.tokenise_source(lines), search,
      [&](int64_t first, std::span<Translation> ready) {
        EXPECT_EQ(first, std::ssize(texts));
        for (const Translation& translation : ready) texts.push_back(translation.text());
        ++calls;
      },
      [&](int64_t count) {
        EXPECT_GT(count, last);
        last = count;
      });
  EXPECT_GT(calls, 1) << "nothing was passed on before the end";
  EXPECT_EQ(last, 50);
  ASSERT_EQ(texts.size(), expected.size());
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(texts[i], expected[i].text()) << i;
}

}  // namespace
}  // namespace fovea
