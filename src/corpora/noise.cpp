#include "corpora/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace fovea {

namespace {

double entropy_per_token(const Hypothesis& scored) {
  return -scored.log_probability / static_cast<double>(std::max<size_t>(1, scored.log_probs.size()));
}

// The lines of a pair for one direction, and whether its model reads and writes so many tokens.
struct Direction {
  const Translator& translator;
  std::vector<SharedLine> sources, targets;

  bool fits(size_t i) const {
    const int64_t most = translator.max_target();
    return !sources[i]->ids.empty() && std::ssize(sources[i]->ids) <= translator.max_source() &&
           (most == 0 || std::ssize(targets[i]->ids) < most);
  }
};

std::vector<Hypothesis> score_some(const Direction& direction, const std::vector<size_t>& which,
                                   const std::function<void(int64_t)>& done) {
  std::vector<SharedLine> sources, targets;
  for (const size_t i : which) {
    sources.push_back(direction.sources[i]);
    targets.push_back(direction.targets[i]);
  }
  return direction.translator.score(sources, targets, {}, done);
}

}  // namespace

double dual_cross_entropy(const Hypothesis& forward, const Hypothesis& backward) {
  const double f = entropy_per_token(forward), b = entropy_per_token(backward);
  return std::abs(f - b) + (f + b) / 2;
}

std::vector<double> noise_scores(std::span<const TextPair> pairs, const Translator& forward, const Translator& backward,
                                 const std::function<void(int64_t)>& done) {
  std::vector<std::string> sources, targets;
  for (const TextPair& pair : pairs) {
    sources.push_back(pair.source);
    targets.push_back(pair.target);
  }
  const Direction there{forward, forward.tokenise_source(sources), forward.tokenise_target(targets)};
  const Direction back{backward, backward.tokenise_source(targets), backward.tokenise_target(sources)};
  std::vector<size_t> which;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (there.fits(i) && back.fits(i)) which.push_back(i);
  }
  const std::vector<Hypothesis> f = score_some(there, which, done);
  const auto second = [&](int64_t count) {
    if (done) done(std::ssize(which) + count);
  };
  const std::vector<Hypothesis> b = score_some(back, which, second);
  std::vector<double> scores(pairs.size(), std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < which.size(); ++i) scores[which[i]] = dual_cross_entropy(f[i], b[i]);
  return scores;
}

double score_limit(std::vector<double> scores, double share) {
  check(share > 0 && share <= 1, "--keep: expected a share above 0 and at most 1, got {}", share);
  if (scores.empty()) return 0;
  const auto count = static_cast<size_t>(std::ceil(share * static_cast<double>(scores.size())));
  const auto last = scores.begin() + static_cast<std::ptrdiff_t>(std::clamp<size_t>(count, 1, scores.size())) - 1;
  std::nth_element(scores.begin(), last, scores.end());
  return *last;
}

}  // namespace fovea
