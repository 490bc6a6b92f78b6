#include "evaluate/ngrams.h"

#include <algorithm>
#include <vector>

namespace fovea {

NgramCounts count_ngrams(std::u32string_view text, size_t n) {
  NgramCounts counts;
  for (size_t i = 0; i + n <= text.size(); ++i) ++counts[text.substr(i, n)];
  return counts;
}

int64_t ngram_total(size_t length, size_t n) { return length < n ? 0 : static_cast<int64_t>(length - n + 1); }

int64_t common_subsequence(std::u32string_view a, std::u32string_view b) {
  // A row of the table at a time.
  std::vector<int64_t> row(b.size() + 1, 0);
  for (const char32_t symbol : a) {
    int64_t diagonal = 0;
    for (size_t j = 1; j < row.size(); ++j) {
      const int64_t above = row[j];
      row[j] = symbol == b[j - 1] ? diagonal + 1 : std::max(above, row[j - 1]);
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace fovea
