// N-gram counts of characters and of words. Words are mapped to symbols first, so that a sentence of words is a string
// like a sentence of characters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fovea {

using NgramCounts = std::unordered_map<std::u32string_view, int64_t>;  // views into the counted text

NgramCounts count_ngrams(std::u32string_view text, size_t n);

// The number of n-grams in a text of `length` symbols.
int64_t ngram_total(size_t length, size_t n);

// The length of the longest common subsequence of two texts.
int64_t common_subsequence(std::u32string_view a, std::u32string_view b);

// Maps each distinct word to a symbol. The mapping is consistent during the lifetime of the table.
template <class Word> class SymbolTable {
 public:
  std::u32string encode(std::span<const Word> words) {
    std::u32string text;
    text.reserve(words.size());
    for (const Word& word : words)
      text += symbols_.try_emplace(word, static_cast<char32_t>(symbols_.size())).first->second;
    return text;
  }

 private:
  std::unordered_map<Word, char32_t> symbols_;
};

}  // namespace fovea
