#include "evaluate/bleu.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "evaluate/ngrams.h"

namespace fovea {
namespace {

constexpr std::string_view kNames[] = {"exp", "floor", "add-k", "none"};

std::optional<double> default_value(Smoothing smoothing) {
  switch (smoothing) {
    case Smoothing::kFloor: return 0.1;
    case Smoothing::kAddK: return 1.0;
    default: return std::nullopt;
  }
}

double smooth_value(const BleuOptions& options) {
  return options.smooth_value.value_or(default_value(options.smoothing).value_or(0));
}

// The reference length that is closest to the hypothesis length; of two equally close lengths, the shorter.
int64_t closest_length(int64_t hypothesis, std::span<const std::u32string> references) {
  std::optional<int64_t> closest;
  for (const std::u32string& reference : references) {
    const auto length = static_cast<int64_t>(reference.size());
    const auto distance = [hypothesis](int64_t l) { return std::abs(l - hypothesis); };
    if (!closest || distance(length) < distance(*closest) ||
        (distance(length) == distance(*closest) && length < *closest))
      closest = length;
  }
  return *closest;
}

int64_t count_matches(std::u32string_view hypothesis, std::span<const std::u32string> references, size_t n) {
  NgramCounts most;  // the largest count in any reference
  for (const std::u32string& reference : references)
    for (const auto& [ngram, count] : count_ngrams(reference, n)) most[ngram] = std::max(most[ngram], count);
  int64_t matches = 0;
  for (const auto& [ngram, count] : count_ngrams(hypothesis, n)) {
    const auto found = most.find(ngram);
    if (found != most.end()) matches += std::min(count, found->second);
  }
  return matches;
}

void count_segment(const Segment& segment, const BleuOptions& options, BleuScore& counts) {
  SymbolTable<std::string> symbols;
  const auto encode = [&](const std::string& line) {
    return symbols.encode(tokenize(line, options.tokenizer, options.lowercase));
  };
  const std::u32string hypothesis = encode(segment.hypothesis);
  std::vector<std::u32string> references;
  for (const std::string& reference : segment.references) references.push_back(encode(reference));

  const auto length = static_cast<int64_t>(hypothesis.size());
  counts.hypothesis_length += length;
  counts.reference_length += closest_length(length, references);
  for (size_t n = 1; n <= kBleuOrder; ++n) {
    counts.matches[n - 1] += count_matches(hypothesis, references, n);
    counts.totals[n - 1] += ngram_total(hypothesis.size(), n);
  }
}

double brevity_penalty(int64_t hypothesis, int64_t reference) {
  if (hypothesis >= reference) return 1;
  return hypothesis == 0 ? 0 : std::exp(1 - static_cast<double>(reference) / static_cast<double>(hypothesis));
}

// Fills the precisions and the score from the counts.
void finish(const BleuOptions& options, BleuScore& bleu) {
  bleu.brevity_penalty = brevity_penalty(bleu.hypothesis_length, bleu.reference_length);
  if (std::all_of(bleu.matches.begin(), bleu.matches.end(), [](int64_t count) { return count == 0; })) return;

  const double value = smooth_value(options);
  double halvings = 1;
  size_t order = kBleuOrder;
  for (size_t n = 1; n <= kBleuOrder; ++n) {
    const double added = options.smoothing == Smoothing::kAddK && n > 1 ? value : 0;
    const double matches = static_cast<double>(bleu.matches[n - 1]) + added;
    const double total = static_cast<double>(bleu.totals[n - 1]) + added;
    if (total == 0) break;
    if (options.effective_order) order = n;
    double& precision = bleu.precisions[n - 1];
    if (matches > 0) {
      precision = 100 * matches / total;
    } else if (options.smoothing == Smoothing::kExp) {
      precision = 100 / ((halvings *= 2) * total);
    } else if (options.smoothing == Smoothing::kFloor) {
      precision = 100 * value / total;
    }
  }
  double logs = 0;  // log 0 is -infinity, which makes the score 0
  for (size_t n = 1; n <= order; ++n) logs += std::log(bleu.precisions[n - 1]);
  bleu.score = bleu.brevity_penalty * std::exp(logs / static_cast<double>(order));
}

}  // namespace

Smoothing smoothing_named(std::string_view name) {
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  check(found != std::end(kNames), "smoothing: expected one of {}, got {}", fmt::join(kNames, ", "), name);
  return static_cast<Smoothing>(found - std::begin(kNames));
}

std::string_view name_of(Smoothing smoothing) { return kNames[static_cast<size_t>(smoothing)]; }

double BleuScore::ratio() const {
  return reference_length == 0 ? 0 : static_cast<double>(hypothesis_length) / static_cast<double>(reference_length);
}

std::string BleuScore::line() const {
  std::string shares;
  for (const double precision : precisions) shares += fmt::format("{}{:.1f}", shares.empty() ? "" : "/", precision);
  return fmt::format("BLEU = {:.2f} {} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})", score, shares,
                     brevity_penalty, ratio(), hypothesis_length, reference_length);
}

BleuScore corpus_bleu(std::span<const Segment> segments, const BleuOptions& options) {
  check_segments("bleu", segments);
  BleuScore bleu;
  for (const Segment& segment : segments) count_segment(segment, options, bleu);
  finish(options, bleu);
  return bleu;
}

BleuScore sentence_bleu(const Segment& segment, BleuOptions options) {
  options.effective_order = true;
  return corpus_bleu({&segment, 1}, options);
}

std::string bleu_signature(std::span<const Segment> segments, const BleuOptions& options) {
  std::string smooth(name_of(options.smoothing));
  if (default_value(options.smoothing)) smooth += fmt::format("[{:.2f}]", smooth_value(options));
  return fmt::format("{}|case:{}|eff:{}|tok:{}|smooth:{}|version:{}", reference_signature(segments),
                     options.lowercase ? "lc" : "mixed", options.effective_order ? "yes" : "no",
                     name_of(options.tokenizer), smooth, kSacrebleuVersion);
}

}  // namespace fovea
