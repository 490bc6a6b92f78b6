#include "tasks/corpus_mixture.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace fovea {

namespace {

constexpr uint64_t kSeedOffset = 7'000'003;  // the batches' order draws from (seed, epoch)

// The rows of a corpus in the order of its `pass`th pass.
std::vector<int64_t> permutation(std::vector<int64_t> rows, uint64_t seed, size_t corpus, int64_t pass) {
  Random random(seed + kSeedOffset, static_cast<uint64_t>(corpus) << 40 | static_cast<uint64_t>(pass));
  for (size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  return rows;
}

}  // namespace

CorpusMixture::CorpusMixture(std::span<const int32_t> corpora, std::span<const double> weights, uint64_t seed)
    : rows_(weights.size()), seed_(seed) {
  for (size_t row = 0; row < corpora.size(); ++row) {
    rows_[static_cast<size_t>(corpora[row])].push_back(static_cast<int64_t>(row));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (size_t i = 0; i < weights.size(); ++i) {
    check(!rows_[i].empty(), "data.train: expected pairs that are not skipped in corpus {}, got none", i + 1);
    const double share = weights[i] / sum * static_cast<double>(corpora.size());
    pairs_.push_back(std::max<int64_t>(1, std::llround(share)));
  }
}

std::vector<int64_t> CorpusMixture::rows(int64_t epoch) const {
  std::vector<int64_t> all;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const int64_t size = std::ssize(rows_[i]);
    for (int64_t at = epoch * pairs_[i], end = at + pairs_[i]; at < end;) {
      const int64_t pass = at / size, begin = at % size, count = std::min(size - begin, end - at);
      const std::vector<int64_t> order = permutation(rows_[i], seed_, i, pass);
      all.insert(all.end(), order.begin() + begin, order.begin() + begin + count);
      at += count;
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<double> weights_by_size(std::span<const int64_t> sizes, double temperature) {
  std::vector<double> weights;
  for (const int64_t size : sizes) weights.push_back(std::pow(static_cast<double>(size), 1.0 / temperature));
  return weights;
}

}  // namespace fovea
