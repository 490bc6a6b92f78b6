#include "evaluate/diversity.h"

#include <string_view>
#include <unordered_set>
#include <vector>

#include "evaluate/ngrams.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace fovea {

namespace {

std::vector<std::u32string> words_of(std::string_view line) {
  std::vector<std::u32string> words(1);
  for (const char32_t c : unicode::decode(line)) {
    const bool alone = is_unspaced(c);
    if ((alone || unicode::is_space(c)) && !words.back().empty()) words.emplace_back();
    if (unicode::is_space(c)) continue;
    words.back() += c;
    if (alone) words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

double distinct_ngrams(std::span<const std::string> lines, size_t n) {
  SymbolTable<std::u32string> symbols;
  std::unordered_set<std::u32string> different;
  int64_t total = 0;
  for (const std::string& line : lines) {
    const std::u32string text = symbols.encode(words_of(line));
    for (const auto& [ngram, count] : count_ngrams(text, n)) {
      different.emplace(ngram);
      total += count;
    }
  }
  return total == 0 ? 0 : 100 * static_cast<double>(different.size()) / static_cast<double>(total);
}

}  // namespace fovea
