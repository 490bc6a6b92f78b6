#include "evaluate/rouge.h"

#include <fmt/format.h>

#include <algorithm>

#include "evaluate/ngrams.h"
#include "evaluate/porter.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace fovea {

namespace {

double f1(int64_t matches, int64_t hypothesis, int64_t reference) {
  if (matches == 0) return 0;
  const double precision = static_cast<double>(matches) / static_cast<double>(hypothesis);
  const double recall = static_cast<double>(matches) / static_cast<double>(reference);
  return 2 * precision * recall / (precision + recall);
}

double ngram_f1(std::u32string_view hypothesis, std::u32string_view reference, size_t n) {
  const NgramCounts expected = count_ngrams(reference, n);
  int64_t matches = 0;
  for (const auto& [ngram, count] : count_ngrams(hypothesis, n)) {
    const auto found = expected.find(ngram);
    if (found != expected.end()) matches += std::min(count, found->second);
  }
  return f1(matches, ngram_total(hypothesis.size(), n), ngram_total(reference.size(), n));
}

double subsequence_f1(std::u32string_view hypothesis, std::u32string_view reference) {
  return f1(common_subsequence(hypothesis, reference), static_cast<int64_t>(hypothesis.size()),
            static_cast<int64_t>(reference.size()));
}

}  // namespace

std::string RougeScore::line() const {
  return fmt::format("ROUGE-1 / 2 / L = {:.2f} / {:.2f} / {:.2f}", rouge1, rouge2, rouge_l);
}

std::vector<std::string> rouge_words(std::string_view text, const RougeOptions& options) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    if (word.empty()) return;
    words.push_back(options.stem && word.size() > 3 ? porter_stem(word) : word);
    word.clear();
  };
  for (const char32_t c : unicode::lower(unicode::decode(text))) {
    if ((c >= U'a' && c <= U'z') || (c >= U'0' && c <= U'9')) {
      word += static_cast<char>(c);
      continue;
    }
    end_word();
    if (is_unspaced(c) && !unicode::is_punctuation(c)) words.push_back(unicode::encode(std::u32string_view(&c, 1)));
  }
  end_word();
  return words;
}

RougeScore corpus_rouge(std::span<const Segment> segments, const RougeOptions& options) {
  check_segments("ROUGE", segments);
  RougeScore sum;
  for (const Segment& segment : segments) {
    SymbolTable<std::string> symbols;
    const std::u32string hypothesis = symbols.encode(rouge_words(segment.hypothesis, options));
    RougeScore best;
    for (const std::string& line : segment.references) {
      const std::u32string reference = symbols.encode(rouge_words(line, options));
      best.rouge1 = std::max(best.rouge1, ngram_f1(hypothesis, reference, 1));
      best.rouge2 = std::max(best.rouge2, ngram_f1(hypothesis, reference, 2));
      best.rouge_l = std::max(best.rouge_l, subsequence_f1(hypothesis, reference));
    }
    sum.rouge1 += best.rouge1;
    sum.rouge2 += best.rouge2;
    sum.rouge_l += best.rouge_l;
  }
  const double share = 100 / static_cast<double>(segments.size());
  return {sum.rouge1 * share, sum.rouge2 * share, sum.rouge_l * share};
}

}  // namespace fovea
