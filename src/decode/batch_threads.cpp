#include "decode/batch_threads.h"

#include <algorithm>

#include "base/threads.h"
#include "ops/ops.h"

namespace fovea {

namespace {

// On the host, sentences are sorted by length within so many of them: batches of all would have hardly less padding,
// and the first sentences would be ready only at the end.
constexpr int64_t kWindow = 512;

// Adds the sentences of each batch of the sentences [begin, end), those with the longest first.
void add_batches(const CorpusView& corpus, int64_t begin, int64_t end, const BatchOptions& options,
                 std::vector<std::vector<int64_t>>& batches) {
  std::vector<std::span<const int32_t>> sources, targets;
  for (int64_t i = begin; i < end; ++i) {
    sources.push_back(corpus.source(i));
    if (corpus.has_target()) targets.push_back(corpus.target(i));
  }
  Batcher batcher(CorpusView(sources, targets), options);
  const auto first = batches.end() - batches.begin();
  for (int64_t batch = 0; batch < batcher.batches(); ++batch) {
    for (int64_t& row : batches.emplace_back(batcher.next_rows())) row += begin;
  }
  std::reverse(batches.begin() + first, batches.end());
}

}  // namespace

void for_each_batch(const CorpusView& corpus, const BatchOptions& options, Device device, const CopyOptions& copies,
                    const std::function<void(const NextBatch&)>& work) {
  BatchOptions by_length = options;
  by_length.shuffle = false;
  std::vector<std::vector<int64_t>> batches;
  const int64_t window = device.on_host() ? kWindow : corpus.size();
  for (int64_t begin = 0; begin < corpus.size(); begin += window) {
    add_batches(corpus, begin, std::min(begin + window, corpus.size()), by_length, batches);
  }
  const Precision precision = product_precision();
  const auto take_batches = [&](TaskQueue& tasks) {
    const PrecisionScope scope(precision);
    work([&](Batch& batch) {
      const int64_t task = tasks.next();
      if (task < 0) return false;
      batch = make_batch(corpus, batches[static_cast<size_t>(task)], by_length, device, copies);
      return true;
    });
  };
  if (device.on_host()) return run_tasks(std::ssize(batches), take_batches);
  TaskQueue all(std::ssize(batches));
  take_batches(all);
}

}  // namespace fovea
