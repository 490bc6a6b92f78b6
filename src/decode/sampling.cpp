#include "decode/sampling.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace fovea {

NextToken sample_token(std::vector<NextToken>& candidates, const SearchOptions& options, double uniform) {
  const auto likelier = [](const NextToken& a, const NextToken& b) {
    return a.log_prob != b.log_prob ? a.log_prob > b.log_prob : a.id < b.id;
  };
  if (options.top_p < 1) std::sort(candidates.begin(), candidates.end(), likelier);
  const float largest = std::min_element(candidates.begin(), candidates.end(), likelier)->log_prob;
  const auto weight = [&](const NextToken& c) {
    return std::exp(static_cast<double>(c.log_prob - largest) / options.temperature);
  };
  double all = 0, nucleus = 0;
  for (const NextToken& c : candidates) all += weight(c);
  auto end = candidates.begin();
  while (end != candidates.end() && (options.top_p == 1 || nucleus < options.top_p * all)) nucleus += weight(*end++);
  double remaining = uniform * nucleus;
  for (auto c = candidates.begin(); c != end; ++c) {
    remaining -= weight(*c);
    if (remaining < 0) return *c;
  }
  return *(end - 1);  // only after rounding
}

double uniform_number(const SearchOptions& options, int64_t sentence, int64_t sample, int64_t step) {
  const auto stream = static_cast<uint64_t>(sentence) << 32 | static_cast<uint64_t>(sample);
  const RandomBits bits = philox(static_cast<uint64_t>(options.seed), stream, static_cast<uint64_t>(step));
  return (static_cast<double>(bits.word[0]) + static_cast<double>(bits.word[1]) * 0x1p-32) * 0x1p-32;
}

}  // namespace fovea
