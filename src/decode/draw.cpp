#include "decode/draw.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"

namespace fovea {

NextWord draw(std::vector<NextWord>& choices, const SearchOptions& options, double lot) {
  const auto likelier = [](const NextWord& a, const NextWord& b) {
    return a.log_prob != b.log_prob ? a.log_prob > b.log_prob : a.word < b.word;
  };
  if (options.top_p < 1) std::sort(choices.begin(), choices.end(), likelier);
  const float most = std::min_element(choices.begin(), choices.end(), likelier)->log_prob;
  const auto weight = [&](const NextWord& c) {
    return std::exp(static_cast<double>(c.log_prob - most) / options.temperature);
  };
  double all = 0, total = 0;
  for (const NextWord& c : choices) all += weight(c);
  auto end = choices.begin();
  while (end != choices.end() && (options.top_p == 1 || total < options.top_p * all)) total += weight(*end++);
  double left = lot * total;
  for (auto c = choices.begin(); c != end; ++c) {
    left -= weight(*c);
    if (left < 0) return *c;
  }
  return *(end - 1);  // rounding
}

double lot_of(const SearchOptions& options, int64_t sentence, int64_t sample, int64_t step) {
  const auto stream = static_cast<uint64_t>(sentence) << 32 | static_cast<uint64_t>(sample);
  const RandomBits bits = philox(static_cast<uint64_t>(options.seed), stream, static_cast<uint64_t>(step));
  return (static_cast<double>(bits.word[0]) + static_cast<double>(bits.word[1]) * 0x1p-32) * 0x1p-32;
}

}  // namespace fovea
