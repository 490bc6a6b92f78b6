// Several corpora in one run: how many pairs of each an epoch has, and which.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace fovea {

class CorpusMixture {
 public:
  // `corpora` has the number of its corpus, from 0, for each row. An epoch has as many pairs as there are rows, and of
  // each corpus a share in proportion to its weight; but at least one.
  CorpusMixture(std::span<const int32_t> corpora, std::span<const double> weights, uint64_t seed);

  // The rows of an epoch, sorted. They depend on the seed and the epoch alone. Rows of a corpus are drawn without
  // replacement until all have been drawn, also from one epoch to the next.
  std::vector<int64_t> rows(int64_t epoch) const;
  const std::vector<int64_t>& pairs() const { return pairs_; }  // of each corpus in an epoch

 private:
  std::vector<std::vector<int64_t>> rows_;  // of each corpus
  std::vector<int64_t> pairs_;
  uint64_t seed_;
};

// Weights by size, which a temperature T evens out: size ^ (1 / T).
std::vector<double> weights_by_size(std::span<const int64_t> sizes, double temperature);

}  // namespace fovea
