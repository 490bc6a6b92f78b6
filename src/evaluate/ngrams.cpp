#include "evaluate/ngrams.h"

namespace fovea {

NgramCounts count_ngrams(std::u32string_view text, size_t n) {
  NgramCounts counts;
  for (size_t i = 0; i + n <= text.size(); ++i) ++counts[text.substr(i, n)];
  return counts;
}

int64_t ngram_total(size_t length, size_t n) { return length < n ? 0 : static_cast<int64_t>(length - n + 1); }

}  // namespace fovea
