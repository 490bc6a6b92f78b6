#include "evaluate/chrf.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/ngrams.h"
#include "text/unicode.h"

namespace fovea {
namespace {

// The n-gram counts of one order.
struct Matches {
  int64_t hypothesis = 0, reference = 0, both = 0;
};

// A line as characters and as words, one symbol for each.
struct EncodedLine {
  std::u32string characters, words;
};

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// One punctuation mark at the end of a word, or else one at its start, is a word by itself: "(hi)" is "(hi" and ")".
std::vector<std::u32string_view> words_of(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : unicode::split(text)) {
    const size_t last = word.size() - 1;
    size_t split = 0;
    if (last > 0 && is_ascii_punctuation(word[last])) {
      split = last;
    } else if (last > 0 && is_ascii_punctuation(word[0])) {
      split = 1;
    }
    if (split > 0) words.push_back(word.substr(0, split));
    words.push_back(word.substr(split));
  }
  return words;
}

EncodedLine encode(const std::string& line, const ChrfOptions& options, SymbolTable<std::u32string>& symbols) {
  std::u32string text = unicode::decode(line);
  if (options.lowercase) text = unicode::lower(text);
  EncodedLine encoded;
  if (options.word_order > 0) {
    const std::vector<std::u32string_view> words = words_of(text);
    encoded.words = symbols.encode(std::vector<std::u32string>(words.begin(), words.end()));
  }
  if (!options.whitespace) std::erase_if(text, unicode::is_space);
  encoded.characters = std::move(text);
  return encoded;
}

Matches match(std::u32string_view hypothesis, std::u32string_view reference, size_t n) {
  Matches matches{.reference = ngram_total(reference.size(), n)};
  if (matches.reference == 0) return matches;  // an order that the reference is too short for does not count
  matches.hypothesis = ngram_total(hypothesis.size(), n);
  const NgramCounts expected = count_ngrams(reference, n);
  for (const auto& [ngram, count] : count_ngrams(hypothesis, n)) {
    const auto found = expected.find(ngram);
    if (found != expected.end()) matches.both += std::min(count, found->second);
  }
  return matches;
}

std::vector<Matches> match(const EncodedLine& hypothesis, const EncodedLine& reference, const ChrfOptions& options) {
  std::vector<Matches> orders;
  for (int n = 1; n <= options.char_order; ++n)
    orders.push_back(match(hypothesis.characters, reference.characters, static_cast<size_t>(n)));
  for (int n = 1; n <= options.word_order; ++n)
    orders.push_back(match(hypothesis.words, reference.words, static_cast<size_t>(n)));
  return orders;
}

double f_score(std::span<const Matches> orders, const ChrfOptions& options) {
  constexpr double kEpsilon = 1e-16;
  const double factor = options.beta * options.beta;
  double f_scores = 0, precisions = 0, recalls = 0;
  int effective = 0;
  for (const Matches& order : orders) {
    const auto both = static_cast<double>(order.both);
    const double precision = order.hypothesis > 0 ? both / static_cast<double>(order.hypothesis) : kEpsilon;
    const double recall = order.reference > 0 ? both / static_cast<double>(order.reference) : kEpsilon;
    const double denominator = factor * precision + recall;
    f_scores += denominator > 0 ? (1 + factor) * precision * recall / denominator : kEpsilon;
    if (order.hypothesis > 0 && order.reference > 0) {
      precisions += precision;
      recalls += recall;
      ++effective;
    }
  }
  if (options.eps_smoothing) return 100 * f_scores / static_cast<double>(orders.size());
  if (precisions + recalls == 0) return 0;
  const double precision = precisions / effective, recall = recalls / effective;
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

std::vector<Matches> match_best(const Segment& segment, const ChrfOptions& options) {
  SymbolTable<std::u32string> symbols;
  const EncodedLine hypothesis = encode(segment.hypothesis, options, symbols);
  std::vector<Matches> best;
  double best_score = -1;
  for (const std::string& line : segment.references) {
    std::vector<Matches> orders = match(hypothesis, encode(line, options, symbols), options);
    const double score = f_score(orders, options);
    if (score > best_score) {
      best_score = score;
      best = std::move(orders);
    }
  }
  return best;
}

}  // namespace

std::string ChrfScore::line() const { return fmt::format("{} = {:.2f}", name, score); }

ChrfScore corpus_chrf(std::span<const Segment> segments, const ChrfOptions& options) {
  check_segments("chrf", segments);
  check(options.char_order >= 0 && options.word_order >= 0 && options.char_order + options.word_order > 0,
        "chrf: expected an n-gram order above 0, got {} for characters and {} for words", options.char_order,
        options.word_order);
  std::vector<Matches> sum(static_cast<size_t>(options.char_order + options.word_order));
  for (const Segment& segment : segments) {
    const std::vector<Matches> orders = match_best(segment, options);
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i].hypothesis += orders[i].hypothesis;
      sum[i].reference += orders[i].reference;
      sum[i].both += orders[i].both;
    }
  }
  const std::string plus(static_cast<size_t>(options.word_order), '+');
  return {.name = fmt::format("chrF{}{}", options.beta, plus), .score = f_score(sum, options)};
}

ChrfScore sentence_chrf(const Segment& segment, const ChrfOptions& options) {
  return corpus_chrf({&segment, 1}, options);
}

std::string chrf_signature(std::span<const Segment> segments, const ChrfOptions& options) {
  return fmt::format("{}|case:{}|eff:{}|nc:{}|nw:{}|space:{}|version:{}", reference_signature(segments),
                     options.lowercase ? "lc" : "mixed", options.eps_smoothing ? "no" : "yes", options.char_order,
                     options.word_order, options.whitespace ? "yes" : "no", kSacrebleuVersion);
}

}  // namespace fovea
