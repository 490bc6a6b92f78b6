#include "decode/warnings.h"

#include <algorithm>

#include "base/error.h"
#include "base/thousands.h"

namespace fovea {

namespace {

constexpr size_t kLongestRepeated = 10;
constexpr int64_t kFewestRepeated = 4;
constexpr double kMostRatio = 3;
constexpr int64_t kRatioAllowance = 10;
// Short sentences have too few tokens for a share of them to mean anything.
constexpr int64_t kFewestJudged = 6;
constexpr double kLeastCoverage = 0.4;

// The number of times that the n-gram before `at` occurs in a row, ending there.
int64_t occurrences(std::span<const int32_t> ids, size_t at, size_t n) {
  int64_t count = 1;
  while (at >= (static_cast<size_t>(count) + 1) * n) {
    const auto last = ids.begin() + static_cast<std::ptrdiff_t>(at - n);
    const auto before = last - count * static_cast<std::ptrdiff_t>(n);
    if (!std::equal(before, before + static_cast<std::ptrdiff_t>(n), last)) break;
    ++count;
  }
  return count;
}

}  // namespace

int64_t repeated_tokens(std::span<const int32_t> ids) {
  int64_t most = 0;
  for (size_t n = 1; n <= kLongestRepeated; ++n) {
    for (size_t at = n; at <= ids.size(); ++at) {
      const int64_t count = occurrences(ids, at, n);
      if (count > 2) most = std::max(most, (count - 1) * static_cast<int64_t>(n));
    }
  }
  return most;
}

double attention_coverage(const Hypothesis& hypothesis) {
  std::vector<double> sums;
  double heads = 0, rows = 0;
  for (const HypothesisWeights& w : hypothesis.weights) {
    if (w.kind != AttentionKind::kCross) continue;
    sums.resize(static_cast<size_t>(w.columns));
    for (size_t i = 0; i < w.weights.size(); ++i) {
      const double weight = static_cast<double>(w.weights[i]);
      if (weight > 0) sums[i % sums.size()] += weight;  // also false for a masked cell, which is not a number
    }
    heads += static_cast<double>(w.heads);
    rows = static_cast<double>(w.rows);
  }
  if (sums.size() < 2 || heads == 0) return -1;
  const double even = rows / static_cast<double>(sums.size());
  const auto end_mark = sums.end() - 1;
  const auto covered = std::count_if(sums.begin(), end_mark, [&](double sum) { return sum / heads >= 0.1 * even; });
  return static_cast<double>(covered) / static_cast<double>(sums.size() - 1);
}

std::vector<OutputWarning> output_warnings(std::span<const int32_t> source, const Hypothesis& hypothesis) {
  std::vector<OutputWarning> warnings;
  const int64_t read = std::ssize(source), written = std::ssize(hypothesis.ids);
  const int64_t repeated = repeated_tokens(hypothesis.ids);
  if (repeated >= kFewestRepeated && repeated > 2 * repeated_tokens(source)) {
    warnings.push_back({"repetition", fmt::format("it repeats itself: {}", counted(repeated, "token"))});
  }
  const auto exceeds = [](int64_t longer, int64_t shorter) {
    return static_cast<double>(longer) > kMostRatio * static_cast<double>(shorter) + kRatioAllowance;
  };
  if (exceeds(written, read) || exceeds(read, written)) {
    warnings.push_back({"length", fmt::format("it has {} for {} of the source", counted(written, "token"), read)});
  }
  const double coverage = read < kFewestJudged ? -1 : attention_coverage(hypothesis);
  if (coverage >= 0 && coverage < kLeastCoverage) {
    warnings.push_back({"attention", fmt::format("it attends to {:.0f}% of the source tokens only", 100 * coverage)});
  }
  return warnings;
}

}  // namespace fovea
