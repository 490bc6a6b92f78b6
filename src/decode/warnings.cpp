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
constexpr int64_t kFewestJudged = 6;
// The shipped translator from English has 0.23 or more for 95% of the sentences that it knows how to translate, and
// 0.19 or less for 95% of lines of made-up words.
constexpr double kLeastConcentration = 0.15;

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

double attention_concentration(const Hypothesis& hypothesis) {
  std::vector<double> mean;  // [rows,columns], times the number of heads
  double heads = 0;
  int64_t rows = 0, columns = 0;
  for (const HypothesisWeights& w : hypothesis.weights) {
    if (w.kind != AttentionKind::kCross) continue;
    rows = w.rows;
    columns = w.columns;
    mean.resize(static_cast<size_t>(rows * columns));
    for (size_t i = 0; i < w.weights.size(); ++i) {
      const auto weight = static_cast<double>(w.weights[i]);
      if (weight > 0) mean[i % mean.size()] += weight;  // false for a masked cell, which is not a number
    }
    heads += static_cast<double>(w.heads);
  }
  if (rows == 0 || columns < 2 || heads == 0) return -1;
  double sum = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const auto begin = mean.begin() + row * columns;
    sum += *std::max_element(begin, begin + columns - 1);  // without the end mark
  }
  return sum / heads / static_cast<double>(rows);
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
  const double concentration = read < kFewestJudged ? -1 : attention_concentration(hypothesis);
  if (concentration >= 0 && concentration < kLeastConcentration) {
    warnings.push_back({"attention", fmt::format("its attention is on nothing in particular: the largest weight of a "
                                                 "step is {:.2f} on average",
                                                 concentration)});
  }
  return warnings;
}

}  // namespace fovea
