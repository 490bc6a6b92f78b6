#include "text/batches.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "support.h"

namespace fovea {
namespace {

constexpr Device kCpu = Device::cpu();

ParallelCorpus corpus_of(const std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>>& pairs) {
  ParallelCorpus corpus;
  for (const auto& [x, y] : pairs) {
    corpus.lines.push_back(corpus.size());
    corpus.source.append(x);
    corpus.target.append(y);
  }
  return corpus;
}

// Sentence i of the source consists of the id 4 + i, so that sentences can be told apart.
ParallelCorpus random_corpus(int count, int longest) {
  ParallelCorpus corpus;
  Random random(11);
  for (int i = 0; i < count; ++i) {
    const size_t n = 1 + random.below(static_cast<uint64_t>(longest)), m = 1 + random.below(n + 3);
    corpus.lines.push_back(i);
    corpus.source.append(std::vector<int32_t>(n, 4 + i));
    corpus.target.append(std::vector<int32_t>(m, 4 + i));
  }
  return corpus;
}

TEST(Batches, LayOutIdsTimeMajor) {
  const ParallelCorpus corpus = corpus_of({{{5, 6, 7}, {8}}, {{9}, {10, 11}}});
  const std::vector<int64_t> rows = {0, 1};
  const Batch batch = make_batch(corpus, rows, {}, kCpu);
  EXPECT_EQ(batch.source.shape(), (Shape{4, 2}));
  EXPECT_EQ(to_host<int32_t>(batch.source), (std::vector<int32_t>{5, 9, 6, kEnd, 7, kPad, kEnd, kPad}));
  EXPECT_EQ(batch.source_lengths.shape(), (Shape{2}));
  EXPECT_EQ(to_host<int32_t>(batch.source_lengths), (std::vector<int32_t>{4, 2}));
  EXPECT_EQ(to_host<int32_t>(batch.target_in), (std::vector<int32_t>{kBegin, kBegin, 8, 10, kPad, 11}));
  EXPECT_EQ(to_host<int32_t>(batch.target_out), (std::vector<int32_t>{8, 10, kEnd, 11, kPad, kEnd}));
  EXPECT_EQ(to_host<int32_t>(batch.target_lengths), (std::vector<int32_t>{2, 3}));
  EXPECT_EQ(to_host<float>(batch.target_mask), (std::vector<float>{1, 1, 1, 1, 0, 1}));
  EXPECT_EQ(batch.target_tokens, 5);
  EXPECT_EQ(batch.rows, rows);
}

TEST(Batches, OptionsChangeTheSource) {
  const ParallelCorpus corpus = corpus_of({{{5, 6, 7}, {8}}});
  const std::vector<int64_t> rows = {0};
  const auto source = [&](const BatchOptions& options) {
    return to_host<int32_t>(make_batch(corpus, rows, options, kCpu).source);
  };
  EXPECT_EQ(source({.end_source = false}), (std::vector<int32_t>{5, 6, 7}));
  EXPECT_EQ(source({.reverse_source = true}), (std::vector<int32_t>{7, 6, 5, kEnd}));
  EXPECT_EQ(source({.multiple = 8}), (std::vector<int32_t>{5, 6, 7, kEnd, kPad, kPad, kPad, kPad}));
  EXPECT_EQ(make_batch(corpus, rows, {.multiple = 8}, kCpu).target_in.shape(), (Shape{8, 1}));
}

TEST(Batches, SourceAloneHasNoTarget) {
  ParallelCorpus corpus;
  corpus.source.append(std::vector<int32_t>{5});
  corpus.source.append({});
  corpus.lines = {0, 1};
  Batcher batcher(corpus, {.shuffle = false});
  const Batch batch = batcher.next(kCpu);
  EXPECT_EQ(batch.rows, (std::vector<int64_t>{1, 0}));
  EXPECT_FALSE(batch.target_in);
  EXPECT_EQ(to_host<int32_t>(batch.source_lengths), (std::vector<int32_t>{1, 2}));
}

TEST(Batcher, EpochsHoldEachSentenceOnceWithinTheBudget) {
  const ParallelCorpus corpus = random_corpus(997, 40);
  const BatchOptions options{.tokens = 300, .sentences = 50, .multiple = 4};
  Batcher batcher(corpus, options);
  std::vector<std::vector<int64_t>> epochs;
  for (int epoch = 0; epoch < 3; ++epoch) {
    auto& seen = epochs.emplace_back();
    int64_t tokens = 0, padded = 0;
    for (int64_t i = 0; i < batcher.batches(); ++i) {
      EXPECT_EQ(batcher.state(), (Batcher::State{epoch, i}));
      const Batch batch = batcher.next(kCpu);
      const auto count = static_cast<int64_t>(batch.rows.size());
      EXPECT_LE(count, 50);
      EXPECT_LE(batch.source.size(), 300);
      EXPECT_LE(batch.target_in.size(), 300);
      EXPECT_EQ(batch.source.dim(0) % 4, 0);
      EXPECT_EQ(batch.target_out.dim(0) % 4, 0);
      tokens += batch.target_tokens;
      padded += batch.target_out.size();
      seen.insert(seen.end(), batch.rows.begin(), batch.rows.end());
      // Column c is sentence rows[c].
      const auto first = to_host<int32_t>(batch.source[0]);
      for (size_t c = 0; c < batch.rows.size(); ++c) EXPECT_EQ(first[c], 4 + batch.rows[c]);
    }
    std::vector<int64_t> sorted = seen, all(997);
    std::sort(sorted.begin(), sorted.end());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all);
    EXPECT_GT(static_cast<double>(tokens) / static_cast<double>(padded), 0.75);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_NE(epochs[1], epochs[2]);
}

TEST(Batcher, ShapesRepeatInEveryEpoch) {
  const ParallelCorpus corpus = random_corpus(300, 20);
  Batcher batcher(corpus, {.tokens = 200, .multiple = 4});
  const auto shapes = [&] {
    std::multiset<std::vector<int64_t>> made;
    for (int64_t i = 0; i < batcher.batches(); ++i) {
      const Batch batch = batcher.next(kCpu);
      made.insert({batch.source.dim(0), batch.target_in.dim(0), batch.source.dim(1)});
    }
    return made;
  };
  EXPECT_EQ(shapes(), shapes());
}

TEST(Batcher, ResumesWhereItStopped) {
  const ParallelCorpus corpus = random_corpus(200, 15);
  const BatchOptions options{.tokens = 100, .seed = 9};
  Batcher whole(corpus, options);
  const int64_t stop = whole.batches() + 7;
  for (int64_t i = 0; i < stop; ++i) whole.next(kCpu);
  EXPECT_EQ(whole.state(), (Batcher::State{1, 7}));
  Batcher resumed(corpus, options);
  resumed.set_state(whole.state());
  for (int64_t i = 0; i < 2 * whole.batches(); ++i) {
    const Batch a = whole.next(kCpu), b = resumed.next(kCpu);
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(to_host<int32_t>(a.source), to_host<int32_t>(b.source));
    EXPECT_EQ(to_host<int32_t>(a.target_out), to_host<int32_t>(b.target_out));
    EXPECT_EQ(whole.state(), resumed.state());
  }
}

TEST(Batcher, SeedsDifferAndRepeat) {
  const ParallelCorpus corpus = random_corpus(200, 15);
  const auto order = [&](int64_t seed) {
    Batcher batcher(corpus, {.tokens = 100, .seed = seed});
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < batcher.batches(); ++i) {
      const Batch batch = batcher.next(kCpu);
      rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
    }
    return rows;
  };
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST(Batcher, ValidationIsSortedAndTheSameEveryTime) {
  const ParallelCorpus corpus = random_corpus(100, 30);
  Batcher batcher(corpus, {.tokens = 200, .shuffle = false});
  std::vector<int64_t> epochs[2];
  int64_t longest = 0;
  for (auto& rows : epochs) {
    longest = 0;
    for (int64_t i = 0; i < batcher.batches(); ++i) {
      const Batch batch = batcher.next(kCpu);
      EXPECT_GE(batch.target_in.dim(0), longest);
      longest = batch.target_in.dim(0);
      rows.insert(rows.end(), batch.rows.begin(), batch.rows.end());
    }
  }
  EXPECT_EQ(epochs[0], epochs[1]);
}

TEST(Batcher, ALongSentenceIsABatchAlone) {
  const ParallelCorpus corpus = corpus_of({{std::vector<int32_t>(50, 4), {4}}, {{5}, {5}}, {{6}, {6}}});
  Batcher batcher(corpus, {.tokens = 10, .shuffle = false});
  ASSERT_EQ(batcher.batches(), 2);
  EXPECT_EQ(batcher.next(kCpu).rows, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(batcher.next(kCpu).rows, (std::vector<int64_t>{0}));
}

TEST(Batcher, Errors) {
  const ParallelCorpus corpus = random_corpus(10, 5), empty;
  EXPECT_ERROR(Batcher(empty, {}), "batches: expected sentences, got none");
  EXPECT_ERROR(Batcher(corpus, {.tokens = 0}), "batches: expected a limit on tokens or sentences, got none");
  EXPECT_ERROR(Batcher(corpus, {.multiple = 0}), "batches: expected a multiple of at least 1, got 0");
  Batcher batcher(corpus, {.sentences = 5});
  EXPECT_ERROR(batcher.set_state({.epoch = 0, .next = 2}),
               "batches: expected a position within the 2 batches of an epoch, got batch 2 of epoch 0");
  EXPECT_ERROR(batcher.set_state({.epoch = -1, .next = 0}), "got batch 0 of epoch -1");
  EXPECT_ERROR(make_batch(corpus, std::vector<int64_t>{10}, {}, kCpu), "batches: expected rows below 10, got 10");
}

}  // namespace
}  // namespace fovea
