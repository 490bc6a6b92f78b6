#include "tasks/answer_spans.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace fovea {

namespace {

struct Candidate {
  double score;
  TokenSpan span;
};

// log sum_t exp(max over the windows of the logit of t)
double log_total(std::span<const WindowLogits> windows, std::vector<float> WindowLogits::*logits) {
  std::vector<double> best;
  for (const WindowLogits& window : windows) {
    const std::vector<float>& values = window.*logits;
    const size_t end = static_cast<size_t>(window.begin) + values.size();
    if (best.size() < end) best.resize(end, -std::numeric_limits<double>::infinity());
    for (size_t i = 0; i < values.size(); ++i) {
      double& here = best[static_cast<size_t>(window.begin) + i];
      here = std::max(here, static_cast<double>(values[i]));
    }
  }
  const double most = *std::max_element(best.begin(), best.end());
  double sum = 0;
  for (const double value : best) sum += std::exp(value - most);
  return most + std::log(sum);
}

// For each first token, its best last one.
void add_candidates(const WindowLogits& window, int64_t index, int64_t max_length,
                    const std::function<bool(int64_t, int64_t)>& allowed, std::vector<Candidate>& candidates) {
  const int64_t count = std::ssize(window.start);
  for (int64_t first = 0; first < count; ++first) {
    Candidate best{-std::numeric_limits<double>::infinity(), {}};
    for (int64_t last = first; last < std::min(count, first + max_length); ++last) {
      const double score = static_cast<double>(window.start[static_cast<size_t>(first)]) +
                           static_cast<double>(window.end[static_cast<size_t>(last)]);
      if (score > best.score && allowed(window.begin + first, window.begin + last)) {
        best = {score, {window.begin + first, window.begin + last, 0, index}};
      }
    }
    if (std::isfinite(best.score)) candidates.push_back(best);
  }
}

}  // namespace

std::vector<TokenSpan> best_spans(std::span<const WindowLogits> windows, int64_t count, int64_t max_length,
                                  const std::function<bool(int64_t, int64_t)>& allowed) {
  std::vector<Candidate> candidates;
  for (size_t i = 0; i < windows.size(); ++i) {
    add_candidates(windows[i], static_cast<int64_t>(i), max_length, allowed, candidates);
  }
  std::vector<TokenSpan> found;
  if (candidates.empty()) return found;
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.score > b.score; });
  const double total = log_total(windows, &WindowLogits::start) + log_total(windows, &WindowLogits::end);
  for (const Candidate& candidate : candidates) {
    if (std::ssize(found) == count) break;
    TokenSpan span = candidate.span;
    const bool overlaps = std::any_of(found.begin(), found.end(), [&](const TokenSpan& other) {
      return span.first <= other.last && other.first <= span.last;
    });
    if (overlaps) continue;
    span.probability = std::exp(candidate.score - total);
    found.push_back(span);
  }
  return found;
}

}  // namespace fovea
