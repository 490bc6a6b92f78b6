#include "evaluate/chrf.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "evaluate/ngrams.h"
#include "evaluate/unicode.h"

namespace fovea {
namespace {

// Of one order.
struct Matches {
  int64_t hypothesis = 0, reference = 0, both = 0;
};

// A line as its characters and as its words, a letter each.
struct Spelled {
  std::u32string characters, words;
};

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// One sign at the end of a word, or else one at its beginning, stands apart: "(hi)" is "(hi" and ")".
std::vector<std::u32string_view> words_of(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : unicode::split(text)) {
    const size_t last = word.size() - 1;
    size_t cut = 0;
    if (last > 0 && is_ascii_punctuation(word[last])) {
      cut = last;
    } else if (last > 0 && is_ascii_punctuation(word[0])) {
      cut = 1;
    }
    if (cut > 0) words.push_back(word.substr(0, cut));
    words.push_back(word.substr(cut));
  }
  return words;
}

Spelled spell(const std::string& line, const ChrfOptions& options, Alphabet<std::u32string>& alphabet) {
  std::u32string text = unicode::decode(line);
  if (options.lowercase) text = unicode::lower(text);
  Spelled spelled;
  if (options.word_order > 0) {
    const std::vector<std::u32string_view> words = words_of(text);
    spelled.words = alphabet.spell(std::vector<std::u32string>(words.begin(), words.end()));
  }
  if (!options.whitespace) std::erase_if(text, unicode::is_space);
  spelled.characters = std::move(text);
  return spelled;
}

Matches match(std::u32string_view hypothesis, std::u32string_view reference, size_t n) {
  Matches matches{.reference = ngram_total(reference.size(), n)};
  if (matches.reference == 0) return matches;  // what no reference could have is not held against the hypothesis
  matches.hypothesis = ngram_total(hypothesis.size(), n);
  const NgramCounts expected = count_ngrams(reference, n);
  for (const auto& [ngram, count] : count_ngrams(hypothesis, n)) {
    const auto found = expected.find(ngram);
    if (found != expected.end()) matches.both += std::min(count, found->second);
  }
  return matches;
}

std::vector<Matches> match(const Spelled& hypothesis, const Spelled& reference, const ChrfOptions& options) {
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
    const double below = factor * precision + recall;
    f_scores += below > 0 ? (1 + factor) * precision * recall / below : kEpsilon;
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
  Alphabet<std::u32string> alphabet;
  const Spelled hypothesis = spell(segment.hypothesis, options, alphabet);
  std::vector<Matches> best;
  double best_score = -1;
  for (const std::string& line : segment.references) {
    std::vector<Matches> orders = match(hypothesis, spell(line, options, alphabet), options);
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
