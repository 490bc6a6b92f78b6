// Counting n-grams of characters and, with a number for each different word, of words: a sentence of
// words is then a string like any other.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace fovea {

using NgramCounts = std::unordered_map<std::u32string_view, int64_t>;  // views into the counted text

NgramCounts count_ngrams(std::u32string_view text, size_t n);

// The number of n-grams in a text of this many letters.
int64_t ngram_total(size_t letters, size_t n);

// Gives each different word a letter, the same for as long as the alphabet lives.
template <class Word> class Alphabet {
 public:
  std::u32string spell(std::span<const Word> words) {
    std::u32string text;
    text.reserve(words.size());
    for (const Word& word : words)
      text += letters_.try_emplace(word, static_cast<char32_t>(letters_.size())).first->second;
    return text;
  }

 private:
  std::unordered_map<Word, char32_t> letters_;
};

}  // namespace fovea
